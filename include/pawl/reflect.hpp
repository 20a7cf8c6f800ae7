/// What a plain type is made of, without macros: its fields, its enumerators, its name on the wire.
#pragma once

#include <pawl/reflect/enums.hpp>
#include <pawl/reflect/fields.hpp>
#include <pawl/reflect/names.hpp>
