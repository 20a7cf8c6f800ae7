/// Everything a program that uses pawl includes; tests also include <pawl/testing.hpp>.
#pragma once

#include <pawl/context.hpp>
#include <pawl/dag.hpp>
#include <pawl/decision.hpp>
#include <pawl/engine.hpp>
#include <pawl/error.hpp>
#include <pawl/foreign.hpp>
#include <pawl/guard.hpp>
#include <pawl/handlers.hpp>
#include <pawl/inspect.hpp>
#include <pawl/options.hpp>
#include <pawl/outcome.hpp>
#include <pawl/policy.hpp>
#include <pawl/transaction.hpp>
#include <pawl/uuid.hpp>
