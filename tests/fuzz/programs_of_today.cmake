# Runs a program that draws its cases from a seed with the date as the seed, for SECONDS, with OPTIONS (a list). It prints the seed.
if(NOT DEFINED OPTIONS)
    set(OPTIONS --quiet --batch 16)
endif()
string(TIMESTAMP seed "%Y%m%d" UTC)
execute_process(COMMAND ${PROGRAM} --seed ${seed} --seconds ${SECONDS} ${OPTIONS} RESULT_VARIABLE status)
if(NOT status MATCHES "^(0|77)$")  # 77: there is no GPU, as its output says
    message(FATAL_ERROR "${PROGRAM} --seed ${seed}: exit status ${status}")
endif()
