# What the queue engine's folders may do.
#
# Threads communicate through memory/memory_order.cuh alone: no other header has PTX, volatile accesses, fences or
# CUDA's atomics. So a place that needs an order names it, and a CPU can run all of it.
#
# The join counter is written in join/ alone, where its invariants are stated.
#
# A header includes headers of its own folder and of those below it.
set(below_task)
set(below_memory task)
set(below_observe task memory)
set(below_queues task memory observe)
set(below_join task memory observe queues)
set(below_balance task memory observe queues join)
set(below_execute task memory observe queues join balance)
set(below_block task memory observe queues join balance execute)
set(below_host memory)
cmake_minimum_required(VERSION 3.25)
file(GLOB_RECURSE headers RELATIVE ${QUEUE} ${QUEUE}/*.cuh ${QUEUE}/*.hpp)
list(REMOVE_ITEM headers memory/memory_order.cuh)
list(LENGTH headers count)
if(count LESS 20)
    message(FATAL_ERROR "only ${count} headers in ${QUEUE}")
endif()
foreach(header ${headers})
    file(STRINGS ${QUEUE}/${header} lines)
    set(number 0)
    foreach(line IN LISTS lines)
        math(EXPR number "${number} + 1")
        string(REGEX REPLACE "//.*" "" code "${line}")
        if(code MATCHES "(^|[^A-Za-z0-9_])(asm|volatile|__threadfence[a-z_]*|__ldcg|atomic[A-Z][A-Za-z]*)($|[^A-Za-z0-9_])" AND
           NOT (header MATCHES "^host/" AND code MATCHES "volatile"))  # the host reads what the device writes to its memory
            message(SEND_ERROR "${header}:${number}: ${CMAKE_MATCH_2}, which belongs into memory/memory_order.cuh: ${line}")
        endif()
        # Of __syncwarp() lanes come back in several parts: sync_warp().
        if(code MATCHES "__syncwarp\\(\\)")
            message(SEND_ERROR "${header}:${number}: __syncwarp() instead of sync_warp() of memory/memory_order.cuh: ${line}")
        endif()
        if(code MATCHES "#include \"\\.\\./([a-z]+)/" AND header MATCHES "^([a-z]+)/")
            string(REGEX REPLACE "/.*" "" folder "${header}")
            string(REGEX REPLACE ".*#include \"\\.\\./([a-z]+)/.*" "\\1" other "${code}")
            if(NOT other IN_LIST below_${folder})
                message(SEND_ERROR "${header}:${number}: ${other}/ is not below ${folder}/: ${line}")
            endif()
        endif()
        if(code MATCHES "(->|\\.)counter($|[^A-Za-z0-9_(])" AND NOT header MATCHES "^join/")
            message(SEND_ERROR "${header}:${number}: the join counter, of which join/join_counter.cuh has the functions: ${line}")
        endif()
    endforeach()
endforeach()
