# Throw-away database servers, for `./dev`, which sources this file. They live in one temporary
# directory and end with the shell that started them, whatever ends it.
#
#   start_servers test postgres mariadb     exports PAWL_TEST_POSTGRES and PAWL_TEST_MARIADB
#   start_servers bench mariadb             exports PAWL_BENCH_MARIADB: durable, as installed
#
# For tests that start servers of their own: PAWL_TEST_PG_BIN is the directory of PostgreSQL's
# programs, PAWL_TEST_MARIADBD the server. Neither runs as root; PAWL_TEST_SERVER_USER can.

servers_directory=
server_pids=()

# Servers refuse to run as root.
server_user() {
    if [ "$(id -u)" = 0 ]; then echo nobody; else id -un; fi
}

# as_server COMMAND...: the kernel ends it if this shell is killed and can't.
as_server() {
    local identity=()
    if [ "$(id -u)" = 0 ]; then
        identity=(--reuid="$(server_user)" --regid="$(id -g "$(server_user)")" --clear-groups)
    fi
    exec setpriv ${identity[@]+"${identity[@]}"} --pdeathsig KILL -- "$@"
}

# A port of 127.0.0.1 where nobody listens, below those that outgoing connections take.
free_port() {
    local port
    while port=$((10000 + RANDOM % 22000)); do
        (: </dev/tcp/127.0.0.1/"$port") 2>/dev/null || break
    done
    echo "$port"
}

# wait_for_server NAME PID COMMAND...: until the command succeeds.
wait_for_server() {
    local name=$1 pid=$2 deadline=$((SECONDS + 60))
    shift 2
    until "$@" >/dev/null 2>&1; do
        if ! kill -0 "$pid" 2>/dev/null || [ $SECONDS -ge $deadline ]; then
            cat "$servers_directory/$name.log" >&2
            echo "servers: $name did not start" >&2
            return 1
        fi
        sleep 0.1
    done
}

# start_postgres test|bench
start_postgres() {
    local home=$servers_directory/postgres port settings=()
    port=$(free_port)
    if [ "$1" = test ]; then
        # Tests kill clients and servers, never the operating system: nothing is lost by this.
        settings=(-c fsync=off -c shared_buffers=32MB -c max_connections=200)
    fi
    mkdir "$home"
    chown "$(server_user)" "$home"
    (as_server "$PAWL_TEST_PG_BIN/initdb" --pgdata="$home/data" --username=postgres --auth=trust \
        --encoding=UTF8 --locale=C.UTF-8 --no-sync) >"$home.log" 2>&1 ||
        { cat "$home.log" >&2; return 1; }
    (as_server "$PAWL_TEST_PG_BIN/postgres" -D "$home/data" -p "$port" -k "$home" \
        -c listen_addresses=127.0.0.1 ${settings[@]+"${settings[@]}"}) >>"$home.log" 2>&1 &
    server_pids+=($!)
    wait_for_server postgres $! "$PAWL_TEST_PG_BIN/pg_isready" -h 127.0.0.1 -p "$port"
    export "PAWL_${1^^}_POSTGRES=postgres://postgres@127.0.0.1:$port/postgres"
}

# A server that answers sends its greeting unasked.
greets() {
    exec 9<>"/dev/tcp/127.0.0.1/$1" && IFS= read -r -N 1 -t 5 -u 9
}

# start_mariadb test|bench
start_mariadb() {
    local home=$servers_directory/mariadb port settings=()
    port=$(free_port)
    if [ "$1" = test ]; then
        settings=(--innodb-flush-log-at-trx-commit=0 --innodb-flush-method=nosync --sync-frm=0
            --innodb-doublewrite=0 --innodb-stats-persistent=0 --innodb-buffer-pool-size=64M
            --innodb-log-file-size=32M --max-connections=200)
    fi
    mkdir "$home"
    chown "$(server_user)" "$home"
    # What mariadb-install-db does, which needs the client's packages too: the system's tables.
    # A server that starts removes temporary tables from tmpdir: it must not be another server's.
    mkdir "$home/data" "$home/tmp"
    chown "$(server_user)" "$home/data" "$home/tmp"
    cat >"$home.sql" <<'SQL'
CREATE DATABASE IF NOT EXISTS pawl;
CREATE USER IF NOT EXISTS pawl@'%' IDENTIFIED BY 'pawl';
GRANT ALL ON *.* TO pawl@'%' WITH GRANT OPTION;
SQL
    {
        printf "%s\n" "CREATE DATABASE mysql;" "USE mysql;"
        cat /usr/share/mysql/mysql_{system_tables,performance_tables}.sql
    } | (as_server "$PAWL_TEST_MARIADBD" --no-defaults --bootstrap --datadir="$home/data" \
        --tmpdir="$home/tmp" --innodb-log-file-size=10M) >"$home.log" 2>&1 ||
        { cat "$home.log" >&2; return 1; }
    (as_server "$PAWL_TEST_MARIADBD" --no-defaults --datadir="$home/data" \
        --tmpdir="$home/tmp" --socket="$home/socket" --pid-file="$home/pid" \
        --bind-address=127.0.0.1 --port="$port" --skip-name-resolve --init-file="$home.sql" \
        ${settings[@]+"${settings[@]}"}) \
        >>"$home.log" 2>&1 &
    server_pids+=($!)
    wait_for_server mariadb $! eval "(greets $port)"
    export "PAWL_${1^^}_MARIADB=mariadb://pawl:pawl@127.0.0.1:$port/pawl"
}

# What they hold is thrown away, so they need not end in order.
stop_servers() {
    [ -n "$servers_directory" ] || return 0
    local pid
    for pid in ${server_pids[@]+"${server_pids[@]}"}; do kill -QUIT "$pid" 2>/dev/null || true; done
    for pid in ${server_pids[@]+"${server_pids[@]}"}; do wait "$pid" 2>/dev/null || true; done
    rm -rf "$servers_directory"
    servers_directory=
}

# start_servers test|bench NAME...: one that is not on the machine is left out, and said so.
start_servers() {
    local purpose=$1 name program
    shift
    export PAWL_TEST_SERVER_USER PAWL_TEST_PG_BIN PAWL_TEST_MARIADBD
    PAWL_TEST_SERVER_USER=$(server_user)
    PAWL_TEST_PG_BIN=/usr/lib/postgresql/15/bin
    [ -d "$PAWL_TEST_PG_BIN" ] || PAWL_TEST_PG_BIN=$(pg_config --bindir 2>/dev/null || true)
    PAWL_TEST_MARIADBD=$(PATH=$PATH:/usr/sbin command -v mariadbd || true)
    servers_directory=$(mktemp -d /tmp/pawl-servers.XXXXXX)  # short: sockets have short names
    chmod 755 "$servers_directory"
    trap stop_servers EXIT
    for name in "$@"; do
        program=$PAWL_TEST_MARIADBD
        [ "$name" = mariadb ] || program=$PAWL_TEST_PG_BIN/postgres
        if [ -x "$program" ]; then
            "start_$name" "$purpose"
        else
            echo "servers: $name is not installed, what needs it is left out" >&2
        fi
    done
}
