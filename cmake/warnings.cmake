# Warnings for dynpar's own code. They are errors where dynpar is the top-level project; a project that includes dynpar must not
# fail to build because its compiler is newer than ours.
option(DYNPAR_WARNINGS_AS_ERRORS "Stop at the first warning in dynpar's own code" ${PROJECT_IS_TOP_LEVEL})

# Turns the warnings on for one target of this project. They are private: users of the target get none of them.
function(dynpar_set_warnings target)
    # No -Wpedantic under nvcc: the code that nvcc hands to the host compiler is full of what it warns of.
    set(warnings -Wall -Wextra -Wshadow)
    target_compile_options(${target} PRIVATE $<$<COMPILE_LANGUAGE:CXX>:${warnings};-Wpedantic>)
    # Nor -Wparentheses: nvcc writes a member pointer as `int (type::*p)`, and g++ finds the parentheses superfluous.
    list(JOIN warnings "," cuda_warnings)
    string(APPEND cuda_warnings ",-Wno-parentheses")
    target_compile_options(${target} PRIVATE $<$<COMPILE_LANGUAGE:CUDA>:-Xcompiler=${cuda_warnings}>)
    if(DYNPAR_WARNINGS_AS_ERRORS)
        target_compile_options(${target} PRIVATE
            $<$<COMPILE_LANGUAGE:CXX>:-Werror>
            "$<$<COMPILE_LANGUAGE:CUDA>:SHELL:-Werror all-warnings -Xcompiler=-Werror>")
    endif()
endfunction()
