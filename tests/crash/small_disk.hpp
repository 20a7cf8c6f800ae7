/// A disk that can be filled: a small file system in memory.
#pragma once

#include <fcntl.h>
#include <sched.h>
#include <sys/mount.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <string>
#include <utility>

namespace pawl::crash {

/// Unmounted with this object.
class SmallDisk {
public:
    SmallDisk(std::string path, const char* size) : path_(std::move(path)) {
        const auto options = std::string{"size="} + size;
        // In a namespace of our own, so that a test that aborts leaves no mount behind.
        mounted_ = ::unshare(CLONE_NEWNS) == 0 &&
                   ::mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) == 0 &&
                   ::mount("pawl-test", path_.c_str(), "tmpfs", 0, options.c_str()) == 0;
        error_ = errno;
    }
    ~SmallDisk() {
        if (mounted_) ::umount2(path_.c_str(), MNT_DETACH);
    }
    SmallDisk(const SmallDisk&) = delete;
    SmallDisk& operator=(const SmallDisk&) = delete;

    bool mounted() const { return mounted_; }
    const char* why_not() const { return std::strerror(error_); }

    void fill() const {
        const int file = ::open(ballast().c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
        const std::string block(4096, 'x');
        while (::write(file, block.data(), block.size()) > 0) {
        }
        ::close(file);
    }
    void make_room() const { ::unlink(ballast().c_str()); }

private:
    std::string ballast() const { return path_ + "/ballast"; }

    std::string path_;
    bool mounted_ = false;
    int error_ = 0;
};

}  // namespace pawl::crash
