# Runs programs whose seed is the date, for SECONDS, with OPTIONS (a list). The program prints the seed.
if(NOT DEFINED OPTIONS)
    set(OPTIONS --batch 16)
endif()
string(TIMESTAMP seed "%Y%m%d" UTC)
execute_process(COMMAND ${PROGRAM} --seed ${seed} --seconds ${SECONDS} --quiet ${OPTIONS} RESULT_VARIABLE status)
if(NOT status MATCHES "^(0|77)$")  # 77: there is no GPU, as its output says
    message(FATAL_ERROR "${PROGRAM} --seed ${seed}: exit status ${status}")
endif()
