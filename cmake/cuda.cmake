# loam-cuda.so, the backend for NVIDIA GPUs, where nvcc is. The program runs without it. LOAM_CUDA=OFF leaves it out, as the presets do whose code is not run;
# LOAM_CUDA_ALL=OFF builds for the oldest generation of GPUs alone, whose PTX newer ones translate when they load it: kernels that are
# being changed compile in a third of the time. What ptxas says of registers and spills lies beside each object, in cuda/*.log.
option(LOAM_CUDA "build the backend for NVIDIA GPUs where nvcc is found" ON)
option(LOAM_CUDA_ALL "build it for each generation of GPUs, not the oldest alone" ON)
find_program(LOAM_NVCC nvcc HINTS $ENV{CUDA_HOME}/bin /usr/local/cuda/bin)
if(NOT LOAM_CUDA OR NOT LOAM_NVCC OR LOAM_SANITIZE OR CMAKE_CROSSCOMPILING)
  message(STATUS "no backend for GPUs is built (nvcc: ${LOAM_NVCC})")
  return()
endif()

get_filename_component(cuda_bin ${LOAM_NVCC} REALPATH)
get_filename_component(cuda_home ${cuda_bin}/../.. REALPATH)
find_library(LOAM_CUBLASLT cublasLt HINTS ${cuda_home}/lib64 ${cuda_home}/targets/x86_64-linux/lib)
if(NOT LOAM_CUBLASLT)
  message(STATUS "no backend for GPUs is built: nvcc is there, cuBLASLt is not")
  return()
endif()
set(cuda_targets -gencode=arch=compute_80,code=[sm_80,compute_80])
if(LOAM_CUDA_ALL)
  list(APPEND cuda_targets -gencode=arch=compute_90a,code=sm_90a -gencode=arch=compute_100,code=[sm_100,compute_100])
endif()
set(cuda_flags -std=c++17 -O3 -I${CMAKE_SOURCE_DIR}/src -DLOAM_VERSION=\\"${PROJECT_VERSION}\\" ${cuda_targets} -Xptxas -v
               -Xcompiler -fPIC,-Wall,-fvisibility=hidden --ptxas-options=-warn-spills
               -no-compress) # the PTX is text in the file: tests/shim/test_ptxas.sh reads it
if(LOAM_CUDA_ALL)
  list(APPEND cuda_flags -lineinfo) # compute-sanitizer names lines of the source
endif()

file(GLOB cuda_sources CONFIGURE_DEPENDS src/device/cuda/kernels/*.cu src/device/cuda/native/*.cu)
set(cuda_objects "")
file(MAKE_DIRECTORY ${CMAKE_BINARY_DIR}/cuda)
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
add_library(loam_cuda_host OBJECT src/device/relpos.c src/device/tensor.c src/base/arena.c)
set_target_properties(loam_cuda_host PROPERTIES POSITION_INDEPENDENT_CODE ON C_VISIBILITY_PRESET hidden)
target_include_directories(loam_cuda_host PRIVATE src)
set(cuda_file ${CMAKE_BINARY_DIR}/loam-cuda.so)
add_custom_command(OUTPUT ${cuda_file} DEPENDS ${cuda_objects} loam_cuda_host $<TARGET_OBJECTS:loam_cuda_host>
  COMMENT "Linking loam-cuda.so" COMMAND_EXPAND_LISTS VERBATIM
  COMMAND ${LOAM_NVCC} -shared -cudart static -o ${cuda_file} ${cuda_objects} $<TARGET_OBJECTS:loam_cuda_host> ${LOAM_CUBLASLT}
          -Xlinker -rpath=\$ORIGIN:/usr/local/cuda/lib64:${cuda_home}/lib64 -Xlinker --no-undefined -Xlinker --exclude-libs=ALL)
add_custom_target(loam_cuda ALL DEPENDS ${cuda_file})
add_dependencies(backends loam_cuda)
install(PROGRAMS ${cuda_file} DESTINATION lib/loam)
