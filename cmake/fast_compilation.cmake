# Device code without relocatable device code is compiled by ptxas as a whole, the scheduler with it. nvcc's fast compilation takes a
# quarter of that time; what it makes is slower on a GPU. With relocatable device code it would shorten nothing, and take more registers
# than kernels may have.
option(DYNPAR_COMPILE_FAST "Compile device code that is not relocatable in the least time, where no GPU will run it" OFF)

if(DYNPAR_WITH_CUDA)
    include(CheckCompilerFlag)
    check_compiler_flag(CUDA -Ofc=max DYNPAR_NVCC_COMPILES_FAST)
    if(DYNPAR_COMPILE_FAST AND DYNPAR_NVCC_COMPILES_FAST)
        set(dynpar_is_plain_cuda
            "$<AND:$<COMPILE_LANGUAGE:CUDA>,$<NOT:$<BOOL:$<TARGET_PROPERTY:CUDA_SEPARABLE_COMPILATION>>>>")
        add_compile_options("$<${dynpar_is_plain_cuda}:SHELL:-Ofc=max -Xptxas -suppress-stack-size-warning>")
        # In place of the -Ofc=min that dynpar::core asks for.
        define_property(TARGET PROPERTY DYNPAR_WHOLE_PROGRAM INITIALIZE_FROM_VARIABLE DYNPAR_WHOLE_PROGRAM)
        set(DYNPAR_WHOLE_PROGRAM ON)
    endif()
endif()

include(dynpar_compile_fast)
