/// Marks what a shared libpawl exports; everything else in it is hidden.
#pragma once

#define PAWL_API __attribute__((visibility("default")))
