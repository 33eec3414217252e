# Device code without relocatable device code is compiled by ptxas as a whole, the scheduler with it. nvcc's fast compilation takes a
# quarter of that time; what it makes is slower on a GPU.
option(DYNPAR_COMPILE_FAST "Compile benchmarks and GPU tests in less time, where no GPU will run them" OFF)

# dynpar_compile_fast(<target>): for a program without relocatable device code, whose speed nobody asks for. (With it, ptxas may refuse
# what the fast compilation lets pass: see docs/building.md.)
function(dynpar_compile_fast target)
    include(CheckCompilerFlag)
    check_compiler_flag(CUDA -Ofc=mid DYNPAR_NVCC_COMPILES_FAST)
    if(DYNPAR_NVCC_COMPILES_FAST)
        target_compile_options(${target} PRIVATE
            "$<$<COMPILE_LANGUAGE:CUDA>:SHELL:-Ofc=mid -Xptxas -suppress-stack-size-warning>")
    endif()
endfunction()

# dynpar_compile_fast_if_not_run(<target>): for one whose speed counts.
function(dynpar_compile_fast_if_not_run target)
    if(DYNPAR_COMPILE_FAST)
        dynpar_compile_fast(${target})
    endif()
endfunction()
