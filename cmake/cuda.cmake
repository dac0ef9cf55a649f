# loam-cuda.so, the backend for NVIDIA GPUs, where nvcc is. The program runs without it. LOAM_CUDA=OFF leaves it out, as the presets do whose code is not run.
# It has machine code for the GPUs of this machine, as nvidia-smi names them, or for the oldest generation if there are none; LOAM_CUDA_GPUS names
# others by their compute capabilities (9.0, or "8.0;9.0"); all, which `make bundle` sets, is each generation. PTX of the oldest is always in it, and newer GPUs translate that when they load the file: so any GPU
# runs any build. What ptxas says of registers and spills lies beside each object, in cuda/*.log.
option(LOAM_CUDA "build the backend for NVIDIA GPUs where nvcc is found" ON)
set(LOAM_CUDA_GPUS machine CACHE STRING "which GPUs the backend is built for: those of this machine, all, or compute capabilities such as 8.0;9.0")
find_program(LOAM_NVCC nvcc HINTS $ENV{CUDA_HOME}/bin /usr/local/cuda/bin)
if(NOT LOAM_CUDA OR NOT LOAM_NVCC OR LOAM_SANITIZE OR CMAKE_CROSSCOMPILING)
  message(STATUS "no backend for GPUs is built (nvcc: ${LOAM_NVCC})")
  return()
endif()

get_filename_component(cuda_bin ${LOAM_NVCC} REALPATH)
get_filename_component(cuda_home ${cuda_bin}/../.. REALPATH)
# cuBLASLt is that of nvcc's major version of CUDA: the file needs it by this name, and a driver of this version or a later one. Debian has both in
# folders of the system; packages of PyPI have no libcublasLt.so without a number, those of CUDA 12 a folder of their own.
execute_process(COMMAND ${LOAM_NVCC} --version OUTPUT_VARIABLE said ERROR_QUIET)
string(REGEX MATCH "release ([0-9]+)[.]([0-9]+)" said "${said}")
set(cuda_major ${CMAKE_MATCH_1})
set(cuda_version ${CMAKE_MATCH_1}.${CMAKE_MATCH_2})
if(cuda_version VERSION_LESS 12.4)
  message(STATUS "no backend for GPUs is built: nvcc is of CUDA ${cuda_version}, 12.4 or later is needed")
  return()
endif()
find_library(LOAM_CUBLASLT NAMES libcublasLt.so.${cuda_major} HINTS ${cuda_home}/lib64 ${cuda_home}/targets/x86_64-linux/lib ${cuda_home}/lib
             ${cuda_home}/../cublas/lib)
if(NOT LOAM_CUBLASLT)
  message(STATUS "no backend for GPUs is built: nvcc is there, cuBLASLt of its CUDA ${cuda_major} (libcublasLt.so.${cuda_major}) is not")
  return()
endif()
get_filename_component(cublaslt_folder ${LOAM_CUBLASLT} DIRECTORY)
# Machine code of 8.0 runs on 8.6, too, that of 10.0 on 10.3; casts of FP8 are instructions from 8.9 on.
if(LOAM_CUDA_GPUS STREQUAL all)
  set(cuda_names 80 89 90a 100 120)
else()
  if(LOAM_CUDA_GPUS STREQUAL machine)
    execute_process(COMMAND nvidia-smi --query-gpu=compute_cap --format=csv,noheader OUTPUT_VARIABLE found ERROR_QUIET RESULT_VARIABLE failed)
  elseif(LOAM_CUDA_GPUS MATCHES "^[0-9]+[.][0-9](;[0-9]+[.][0-9])*$")
    set(found ${LOAM_CUDA_GPUS})
  else()
    message(FATAL_ERROR "LOAM_CUDA_GPUS is ${LOAM_CUDA_GPUS}, want machine, all, or compute capabilities such as 8.0;9.0")
  endif()
  string(REGEX MATCHALL "[0-9]+[.][0-9]+" found "${found}")
  set(cuda_names "")
  foreach(capability ${found})
    if(capability VERSION_LESS 8.9)
      list(APPEND cuda_names 80)
    elseif(capability VERSION_LESS 9.0)
      list(APPEND cuda_names 89)
    elseif(capability VERSION_LESS 10.0)
      list(APPEND cuda_names 90a)
    elseif(capability VERSION_LESS 12.0)
      list(APPEND cuda_names 100)
    else()
      list(APPEND cuda_names 120)
    endif()
  endforeach()
  if(failed)
    set(cuda_names "")
  endif()
  list(REMOVE_DUPLICATES cuda_names)
endif()
if(cuda_version VERSION_LESS 12.8) # it knows no newer GPUs: they translate PTX
  list(REMOVE_ITEM cuda_names 100 120)
endif()
if(NOT cuda_names)
  set(cuda_names 80)
endif()
set(cuda_targets -gencode=arch=compute_80,code=compute_80)
foreach(name ${cuda_names})
  list(APPEND cuda_targets -gencode=arch=compute_${name},code=sm_${name})
endforeach()
if(120 IN_LIST cuda_names AND LOAM_CUDA_GPUS STREQUAL all) # for GPUs after those of the list
  list(APPEND cuda_targets -gencode=arch=compute_120,code=compute_120)
endif()
set(cuda_flags -std=c++17 -O3 -I${CMAKE_SOURCE_DIR}/src -DLOAM_VERSION=\\"${PROJECT_VERSION}\\" ${cuda_targets} -Xptxas -v
               -Xcompiler -fPIC,-Wall,-fvisibility=hidden --ptxas-options=-warn-spills
               -no-compress) # the PTX is text in the file: tests/shim/test_ptxas.sh reads it
if(LOAM_CUDA_GPUS STREQUAL all)
  list(APPEND cuda_flags -lineinfo) # compute-sanitizer names lines of the source
endif()

file(GLOB cuda_sources CONFIGURE_DEPENDS src/device/cuda/kernels/*.cu src/device/cuda/native/*.cu)
set(cuda_objects "")
file(MAKE_DIRECTORY ${CMAKE_BINARY_DIR}/cuda)
list(JOIN cuda_names " sm_" joined)
file(WRITE ${CMAKE_BINARY_DIR}/cuda/targets "sm_${joined}\n") # for tests/shim/test_ptxas.sh
foreach(source ${cuda_sources})
  get_filename_component(name ${source} NAME_WE)
  set(object ${CMAKE_BINARY_DIR}/cuda/${name}.o)
  set(log ${CMAKE_BINARY_DIR}/cuda/${name}.log)
  add_custom_command(OUTPUT ${object} DEPENDS ${source} DEPFILE ${object}.d COMMENT "Building CUDA object ${name}.o"
    COMMAND ${CMAKE_CXX_COMPILER_LAUNCHER} ${LOAM_NVCC} ${cuda_flags} -MD -MF ${object}.d -MT ${object} -c ${source} -o ${object}
            2>${log} || \( cat ${log} && false \))
  list(APPEND cuda_objects ${object})
endforeach()

# What the backend needs of the host's code: plain C without further needs.
add_library(loam_cuda_host OBJECT src/device/attn_spec.c src/device/tensor.c src/base/arena.c)
set_target_properties(loam_cuda_host PROPERTIES POSITION_INDEPENDENT_CODE ON C_VISIBILITY_PRESET hidden)
target_include_directories(loam_cuda_host PRIVATE src)
set(cuda_file ${CMAKE_BINARY_DIR}/loam-cuda.so)
add_custom_command(OUTPUT ${cuda_file} DEPENDS ${cuda_objects} loam_cuda_host $<TARGET_OBJECTS:loam_cuda_host>
  COMMENT "Linking loam-cuda.so" COMMAND_EXPAND_LISTS VERBATIM
  COMMAND ${LOAM_NVCC} -shared -cudart static -o ${cuda_file} ${cuda_objects} $<TARGET_OBJECTS:loam_cuda_host> -Xlinker ${LOAM_CUBLASLT}
          -Xlinker -rpath=\$ORIGIN:/usr/local/cuda/lib64:${cublaslt_folder} -Xlinker --no-undefined
          -Xlinker --exclude-libs=ALL)
add_custom_target(loam_cuda ALL DEPENDS ${cuda_file})
add_dependencies(backends loam_cuda)
install(PROGRAMS ${cuda_file} DESTINATION lib/loam)
