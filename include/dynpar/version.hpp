// The version of dynpar, for the preprocessor: `#if DYNPAR_VERSION >= 200` is 0.2.0 or newer.
#pragma once

#define DYNPAR_VERSION_MAJOR 0  ///< 1 of 1.2.3
#define DYNPAR_VERSION_MINOR 1  ///< 2 of 1.2.3
#define DYNPAR_VERSION_PATCH 0  ///< 3 of 1.2.3

/// As one number: 10203 is 1.2.3.
#define DYNPAR_VERSION (DYNPAR_VERSION_MAJOR * 10000 + DYNPAR_VERSION_MINOR * 100 + DYNPAR_VERSION_PATCH)

/// As text: "1.2.3".
#define DYNPAR_VERSION_STRING DYNPAR_VERSION_TEXT(DYNPAR_VERSION_MAJOR, DYNPAR_VERSION_MINOR, DYNPAR_VERSION_PATCH)
#define DYNPAR_VERSION_TEXT(major, minor, patch) DYNPAR_VERSION_QUOTED(major.minor.patch)
#define DYNPAR_VERSION_QUOTED(version) #version
