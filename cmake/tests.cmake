# tests/FLOOR/test_NAME.c is one program, linked with the floors up to its own; tests/cli/test_NAME.sh gets the binary as
# its argument; tests/tools/test_NAME.sh proves a developer's script and gets the build folder. long_NAME has the label long.
enable_testing()

# The first line of a test may name labels: "# labels: repeats starts-first".
# - any-processor: a test above the device that computes nothing which depends on an instruction set, or only for the sake of
#   files, messages and memory. All others above it have the label `computes`: they pass under every instruction set that the
#   processor has (tools/check isa). The tests of the device try all sets by themselves.
# - rounds: of a script, its subject is rounding (tools/check isa); programs in C that compute have this label, too.
# - repeats: a script that trains or plans for the sake of numbers, and reaches hardly any C code that no other test reaches: fewer
#   than one branch a second, which tools/sanitized-tests counts. The build with sanitizers leaves it out.
# - measures-peak: the rate of matrix products, or memory, is the subject. Runs of other scripts measure small matrices for their MFU
#   (device/gemm_peak.h).
# - starts-first: takes long. In a fresh build folder ctest knows no times, and no core should wait for the last test.
# - tools: proves a developer's script; long: `make test-all` only.
# The caller of loam_test sets above_device or measures_mfu for the tests of a folder.
include(cmake/test_labels.cmake)
function(loam_test name file)
  add_test(NAME ${name} COMMAND ${ARGN} WORKING_DIRECTORY ${CMAKE_SOURCE_DIR})
  # Test programs share the cores, so idle OpenMP threads must sleep instead of spin. The timeout ends what hangs, on machines as busy
  # as they may be.
  set_tests_properties(${name} PROPERTIES TIMEOUT 3600 SKIP_RETURN_CODE 77
                       ENVIRONMENT "OMP_NUM_THREADS=2;OMP_WAIT_POLICY=passive;CUDA_VISIBLE_DEVICES=-1")
  test_labels(labels ${file})
  if(long IN_LIST labels)
    set_tests_properties(${name} PROPERTIES LABELS long TIMEOUT 7200)
  elseif(tools IN_LIST labels)
    set_tests_properties(${name} PROPERTIES LABELS tools)
  elseif(above_device AND NOT any-processor IN_LIST labels)
    set_tests_properties(${name} PROPERTIES LABELS computes)
    if(rounds IN_LIST labels OR NOT file MATCHES "\\.sh$")
      set_property(TEST ${name} APPEND PROPERTY LABELS rounds)
    endif()
  endif()
  if(repeats IN_LIST labels)
    set_property(TEST ${name} APPEND PROPERTY LABELS repeats)
  endif()
  if(starts-first IN_LIST labels)
    set_property(TEST ${name} PROPERTY COST 60)
  endif()
  if(LOAM_SANITIZE)
    set_property(TEST ${name} APPEND PROPERTY ENVIRONMENT "LOAM_SANITIZED=1")
  endif()
  if(measures_mfu AND NOT measures-peak IN_LIST labels)
    set_property(TEST ${name} APPEND PROPERTY ENVIRONMENT "LOAM_PEAK_SIDE=256")
  endif()
endfunction()

file(GLOB reference CONFIGURE_DEPENDS tests/reference/*.c)
if(reference AND TARGET loam_device)
  add_library(loam_reference STATIC ${reference})
  target_link_libraries(loam_reference PUBLIC loam_device)
  target_include_directories(loam_reference PUBLIC tests)
  target_compile_options(loam_reference PRIVATE -O3)
endif()

# A grammar of tree-sitter for tests, which `loam grammars install` takes from this folder.
add_library(grammar_lists MODULE tests/text/grammars/lists.c)
set_target_properties(grammar_lists PROPERTIES PREFIX "" OUTPUT_NAME lists LIBRARY_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/test-grammars)
target_link_libraries(grammar_lists PRIVATE PkgConfig::TREE_SITTER)
# Two that claim the same files, in a folder of their own.
foreach(name lists words)
  add_library(rival_${name} MODULE tests/text/grammars/lists.c)
  set_target_properties(rival_${name} PROPERTIES PREFIX "" OUTPUT_NAME ${name} LIBRARY_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/test-rivals)
  target_link_libraries(rival_${name} PRIVATE PkgConfig::TREE_SITTER)
endforeach()
target_compile_definitions(rival_words PRIVATE LOAM_TEST_WORDS)

set(with_reference "")
foreach(floor ${LOAM_FLOORS})
  if(floor STREQUAL device AND TARGET loam_reference)
    set(with_reference loam_reference)
  elseif(floor STREQUAL param)
    set(above_device ON)
  endif()
  file(GLOB sources CONFIGURE_DEPENDS tests/${floor}/test_*.c tests/${floor}/long_*.c)
  foreach(source ${sources})
    get_filename_component(name ${source} NAME_WE)
    add_executable(${floor}_${name} ${source})
    target_link_libraries(${floor}_${name} PRIVATE ${with_reference} loam_${floor})
    target_include_directories(${floor}_${name} PRIVATE tests)
    target_compile_definitions(${floor}_${name} PRIVATE LOAM_SOURCE_DIR="${CMAKE_SOURCE_DIR}"
                               LOAM_TEST_GRAMMARS="${CMAKE_BINARY_DIR}/test-grammars")
    add_dependencies(${floor}_${name} grammar_lists)
    loam_test(${floor}/${name} ${source} ${floor}_${name})
  endforeach()
endforeach()

unset(above_device)

# The ranks of a process under the thread sanitizer, which the other sanitizers exclude.
if(NOT LOAM_SANITIZE AND CMAKE_C_COMPILER_ID STREQUAL GNU AND NOT CMAKE_CROSSCOMPILING)
  function(threads_sanitized name test) # name: of a floor above comm, whose sources are sanitized too, or comm
    file(GLOB sources CONFIGURE_DEPENDS src/comm/*.c src/comm/nccl/*.c src/${name}/*.c)
    list(REMOVE_DUPLICATES sources)
    set(program ${name}_threads_sanitized)
    add_executable(${program} ${test} ${sources})
    target_compile_options(${program} PRIVATE -O1 -fsanitize=thread)
    target_link_options(${program} PRIVATE -fsanitize=thread)
    target_include_directories(${program} PRIVATE tests)
    target_link_libraries(${program} PRIVATE loam_device)
    loam_test(${name}/threads_sanitized ${test} setarch -R $<TARGET_FILE:${program}>)
    set_property(TEST ${name}/threads_sanitized APPEND PROPERTY ENVIRONMENT
                 "TSAN_OPTIONS=suppressions=${CMAKE_SOURCE_DIR}/tests/threads.supp")
  endfunction()
  threads_sanitized(comm tests/comm/test_thread.c)
  threads_sanitized(param tests/param/test_shard.c)
endif()

# The kernels of the cuda backend, built for the host (tests/shim), against the reference by the cases of the cpu. With
# sanitizers at -O2, as those of the cpu are.
file(GLOB kernels CONFIGURE_DEPENDS src/device/cuda/kernels/*.cu)
file(GLOB native CONFIGURE_DEPENDS src/device/cuda/native/*.cu)
file(GLOB fake_cuda CONFIGURE_DEPENDS tests/shim/cuda/*.cc)
set_source_files_properties(${kernels} ${native} PROPERTIES LANGUAGE CXX)
add_library(loam_shim STATIC ${kernels} ${fake_cuda} tests/shim/shim.cc tests/shim/product.c)
set_target_properties(loam_shim PROPERTIES POSITION_INDEPENDENT_CODE ON)
target_compile_options(loam_shim PUBLIC $<$<COMPILE_LANGUAGE:CXX>:-include;${CMAKE_SOURCE_DIR}/tests/shim/shim.h>
                       -Wno-missing-field-initializers PRIVATE $<$<BOOL:${LOAM_SANITIZE}>:-O2>)
set_source_files_properties(tests/shim/product.c PROPERTIES COMPILE_OPTIONS -O3)
target_include_directories(loam_shim PUBLIC tests tests/shim/cuda)
target_link_libraries(loam_shim PUBLIC loam_device)
function(add_shim_test name)
  add_executable(shim_${name} ${ARGN})
  target_link_libraries(shim_${name} PRIVATE loam_shim loam_reference loam_device)
  target_compile_definitions(shim_${name} PRIVATE RIG_SHIM)
endfunction()
add_shim_test(test_shim tests/shim/test_shim.cc)
loam_test(shim/test_shim tests/shim/test_shim.cc shim_test_shim)
add_shim_test(test_fragments tests/shim/test_fragments.cc)
loam_test(shim/test_fragments tests/shim/test_fragments.cc shim_test_fragments)
# The native files of the backend on a fake of CUDA's runtime.
add_shim_test(test_runtime tests/shim/test_runtime.cc)
loam_test(shim/test_runtime tests/shim/test_runtime.cc shim_test_runtime)
add_shim_test(test_lt tests/shim/test_lt.cc)
loam_test(shim/test_lt tests/shim/test_lt.cc shim_test_lt)
add_shim_test(test_native tests/shim/test_native.c ${native})
target_link_libraries(shim_test_native PRIVATE loam_model)
loam_test(shim/test_native tests/shim/test_native.c shim_test_native)
add_shim_test(test_repeat tests/shim/test_repeat.c ${native})
target_link_libraries(shim_test_repeat PRIVATE loam_model)
loam_test(shim/test_repeat tests/shim/test_repeat.c shim_test_repeat)
add_shim_test(test_products tests/shim/test_products.c ${native})
loam_test(shim/test_products tests/shim/test_products.c shim_test_products)
add_shim_test(test_group tests/shim/test_group.c tests/shim/device_shim.cc)
loam_test(shim/test_group tests/shim/test_group.c shim_test_group)
foreach(name test_ops test_ops_wide test_ops_attention test_ops_edges test_ops_fp8 test_ops_random)
  add_shim_test(${name} tests/device/${name}.c tests/shim/device_shim.cc)
  loam_test(shim/${name} tests/device/${name}.c shim_${name})
  loam_test(shim/long_${name} tests/device/${name}.c shim_${name})
  set_tests_properties(shim/long_${name} PROPERTIES ENVIRONMENT RIG_ALL=1 LABELS long TIMEOUT 7200)
endforeach()
loam_test(shim/test_ops_attention_little tests/device/test_ops_attention.c shim_test_ops_attention)
set_tests_properties(shim/test_ops_attention_little PROPERTIES ENVIRONMENT SHIM_SHARES_LITTLE=1)

# Layers, models, optimizers and generation on the same kernels: tests whose cpu device is that of the shim. Arguments
# choose among the tests of a file: -s /PATH and -x /PATH leave out those that take long and ask the kernels for nothing new.
function(add_kernel_test floor name)
  add_shim_test(${floor}_${name} tests/${floor}/${name}.c tests/shim/device_shim.cc tests/shim/as_cpu.c)
  target_link_libraries(shim_${floor}_${name} PRIVATE loam_${floor})
  target_link_options(shim_${floor}_${name} PRIVATE -Wl,--wrap=device_open_cpu)
  target_compile_definitions(shim_${floor}_${name} PRIVATE LOAM_SOURCE_DIR="${CMAKE_SOURCE_DIR}")
  loam_test(shim/${floor}/${name} tests/${floor}/${name}.c shim_${floor}_${name} ${ARGN})
endfunction()
add_kernel_test(param test_optim)
add_kernel_test(param test_optim_muon)
add_kernel_test(param test_optim_ranges)
add_kernel_test(param test_grads)
add_kernel_test(param test_fp8)
add_kernel_test(model test_families -x /families/gradient_matches_finite_difference)
add_kernel_test(model test_precision)
add_kernel_test(model test_fp8)
add_kernel_test(model test_parity)
add_kernel_test(model test_parity_heads)
add_kernel_test(model test_lora -s /lora/adapters_learn_in_bf16)
add_kernel_test(model test_decoder)
add_kernel_test(eval test_eval)
add_kernel_test(eval test_single_stack)
add_kernel_test(eval test_embedder)

# The kernels again, with a call before each access to memory, by which tests/shim/trace.cc finds races. The sanitizers exclude it.
if(NOT LOAM_SANITIZE AND CMAKE_CXX_COMPILER_ID STREQUAL GNU AND NOT CMAKE_CROSSCOMPILING)
  add_library(loam_traced_kernels OBJECT ${kernels})
  target_compile_options(loam_traced_kernels PRIVATE -fsanitize=thread -Wno-maybe-uninitialized) # the calls hide from gcc what is set
  add_library(loam_traced STATIC ${fake_cuda} tests/shim/shim.cc tests/shim/trace.cc tests/shim/trace_names.cc tests/shim/product.c
              $<TARGET_OBJECTS:loam_traced_kernels>)
  foreach(library loam_traced_kernels loam_traced)
    target_compile_definitions(${library} PRIVATE SHIM_TRACED)
    target_compile_options(${library} PRIVATE $<$<COMPILE_LANGUAGE:CXX>:-include;${CMAKE_SOURCE_DIR}/tests/shim/shim.h>
                           -Wno-missing-field-initializers)
    target_include_directories(${library} PRIVATE src tests tests/shim/cuda)
  endforeach()
  target_link_libraries(loam_traced PUBLIC loam_device)
  function(add_traced_test name)
    add_executable(traced_${name} ${ARGN})
    target_compile_options(traced_${name} PRIVATE $<$<COMPILE_LANGUAGE:CXX>:-include;${CMAKE_SOURCE_DIR}/tests/shim/shim.h>
                           -Wno-missing-field-initializers)
    target_link_libraries(traced_${name} PRIVATE loam_traced loam_reference loam_device)
    target_include_directories(traced_${name} PRIVATE src tests tests/shim/cuda)
    target_compile_definitions(traced_${name} PRIVATE RIG_SHIM SHIM_TRACED)
    list(GET ARGN 0 source)
    loam_test(shim/traced_${name} ${source} traced_${name})
  endfunction()
  add_traced_test(test_traced tests/shim/test_traced.cc)
  target_compile_options(traced_test_traced PRIVATE -fsanitize=thread)
  foreach(name test_ops test_ops_wide test_ops_attention test_ops_edges test_ops_fp8)
    add_traced_test(${name} tests/device/${name}.c tests/shim/device_shim.cc)
    set_tests_properties(shim/traced_${name} PROPERTIES ENVIRONMENT RIG_STRIDE=997)
  endforeach()
  # The table of conflicts of banks in bench/results/gpu-counts.md.
  add_executable(traced_banks tests/shim/banks.c tests/shim/device_shim.cc)
  target_compile_options(traced_banks PRIVATE $<$<COMPILE_LANGUAGE:CXX>:-include;${CMAKE_SOURCE_DIR}/tests/shim/shim.h;-Wno-missing-field-initializers>)
  target_link_libraries(traced_banks PRIVATE loam_traced ${below})
  target_include_directories(traced_banks PRIVATE src tests tests/shim/cuda)
  target_compile_definitions(traced_banks PRIVATE RIG_SHIM SHIM_TRACED)
  loam_test(shim/traced_banks tests/shim/banks.c bash -c
            "$<TARGET_FILE:traced_banks> | grep attention_mma >${CMAKE_BINARY_DIR}/banks && ! grep -vxFf bench/results/gpu-counts.md ${CMAKE_BINARY_DIR}/banks")
endif()

# The same cases on a GPU, by way of the backend that the program opens: for tools/gpu-trial.
set(gpu_tests "")
foreach(name test_ops test_ops_wide test_ops_attention test_ops_edges test_ops_fp8 test_ops_random)
  add_executable(gpu_${name} ${CMAKE_SOURCE_DIR}/tests/device/${name}.c tests/device/far.c)
  target_link_libraries(gpu_${name} PRIVATE loam_reference loam_device)
  target_include_directories(gpu_${name} PRIVATE tests)
  target_compile_definitions(gpu_${name} PRIVATE RIG_CUDA)
  find_libraries_beside(gpu_${name})
  list(APPEND gpu_tests gpu_${name})
endforeach()

loam_test(shim/test_ptxas tests/shim/test_ptxas.sh bash tests/shim/test_ptxas.sh ${CMAKE_BINARY_DIR})

# The program on these kernels: the backend as it is, on a fake of CUDA's runtime, and a driver for machines without a GPU.
add_library(backend_shim MODULE ${native} src/device/attn_spec.c src/device/tensor.c src/base/arena.c)
target_compile_options(backend_shim PRIVATE $<$<COMPILE_LANGUAGE:CXX>:-include;${CMAKE_SOURCE_DIR}/tests/shim/shim.h>
                       -Wno-missing-field-initializers)
target_include_directories(backend_shim PRIVATE src tests tests/shim/cuda)
target_link_libraries(backend_shim PRIVATE $<TARGET_FILE:loam_shim>)
add_dependencies(backend_shim loam_shim)
# The stand-in of NCCL works on the streams of this fake, so it is the same file, by the name that the program looks for.
target_link_options(backend_shim PRIVATE -Wl,-u,ncclGetVersion)
add_custom_command(TARGET backend_shim POST_BUILD COMMAND ${CMAKE_COMMAND} -E make_directory ${CMAKE_BINARY_DIR}/test-driver
  COMMAND ${CMAKE_COMMAND} -E create_symlink $<TARGET_FILE:backend_shim> ${CMAKE_BINARY_DIR}/test-driver/libnccl.so.2)
add_executable(shim_test_nccl tests/shim/test_nccl.c)
target_include_directories(shim_test_nccl PRIVATE tests)
target_link_libraries(shim_test_nccl PRIVATE loam_comm)
loam_test(shim/test_nccl tests/shim/test_nccl.c shim_test_nccl)
set_property(TEST shim/test_nccl APPEND PROPERTY ENVIRONMENT "LOAM_CUDA_BACKEND=$<TARGET_FILE:backend_shim>;LOAM_FAKE_GPUS=4")
set_property(TEST shim/test_nccl APPEND PROPERTY ENVIRONMENT_MODIFICATION
             "LD_LIBRARY_PATH=path_list_prepend:${CMAKE_BINARY_DIR}/test-driver"
             "ASAN_OPTIONS=string_append::intercept_tls_get_addr=0")
find_path(LOAM_NCCL_HEADER nccl.h HINTS /usr/local/cuda/include)
if(LOAM_NCCL_HEADER AND EXISTS ${LOAM_NCCL_HEADER}/cuda_runtime.h AND NOT CMAKE_CROSSCOMPILING)
  add_executable(shim_test_nccl_header tests/shim/test_nccl_header.c)
  target_link_libraries(shim_test_nccl_header PRIVATE loam_comm)
  target_include_directories(shim_test_nccl_header SYSTEM PRIVATE ${LOAM_NCCL_HEADER})
  loam_test(shim/test_nccl_header tests/shim/test_nccl_header.c shim_test_nccl_header)
endif()
add_library(fake_driver MODULE tests/shim/fake_driver.c)
set_target_properties(fake_driver PROPERTIES PREFIX "" OUTPUT_NAME libcuda SUFFIX .so.1
                      LIBRARY_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/test-driver)
target_link_options(fake_driver PRIVATE -Wl,-soname,libcuda.so.1) # as NVIDIA's
add_library(fake_backend MODULE tests/shim/fake_backend.c)
target_include_directories(fake_backend PRIVATE src)
set_target_properties(fake_backend PROPERTIES PREFIX "" OUTPUT_NAME other-backend LIBRARY_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/test-driver)
foreach(name device memory offload foreign gpu_ranks)
  loam_test(shim/test_${name} tests/shim/test_${name}.sh bash tests/shim/test_${name}.sh $<TARGET_FILE:loam>
            $<TARGET_FILE:backend_shim> ${CMAKE_BINARY_DIR}/test-driver)
  # LeakSanitizer's tracer crashes at times in its list of the thread-local blocks of a library opened at run time.
  set_property(TEST shim/test_${name} APPEND PROPERTY ENVIRONMENT_MODIFICATION
               "ASAN_OPTIONS=string_append::intercept_tls_get_addr=0")
endforeach()
if(NOT LOAM_SANITIZE)
  loam_test(shim/test_gpu_trial tests/shim/test_gpu_trial.sh bash tests/shim/test_gpu_trial.sh ${CMAKE_BINARY_DIR})
endif()
add_custom_target(gpu_tests DEPENDS ${gpu_tests})

foreach(folder cli tools)
  file(GLOB scripts CONFIGURE_DEPENDS tests/${folder}/test_*.sh tests/${folder}/long_*.sh)
  foreach(script ${scripts})
    get_filename_component(name ${script} NAME_WE)
    if(folder STREQUAL cli)
      set(above_device ON)
      set(measures_mfu ON)
      loam_test(cli/${name} ${script} bash ${script} $<TARGET_FILE:loam>)
    else()
      loam_test(tools/${name} ${script} bash ${script} ${CMAKE_BINARY_DIR})
    endif()
  endforeach()
  unset(above_device)
  unset(measures_mfu)
endforeach()

# Open MPI keeps memory until the process ends, also that of plugins which are unloaded by then and have no name that
# tests/leaks.supp could list. Scripts say so in tests/cli/lib.sh.
if(LOAM_SANITIZE)
  set_property(TEST comm/test_mpi APPEND PROPERTY ENVIRONMENT "ASAN_OPTIONS=detect_leaks=0")
endif()

# The program on a device whose memory only operations and transfers may touch (tests/guarded).
add_executable(loam_guarded src/cli/main.c tests/guarded/guarded.c)
target_link_libraries(loam_guarded PRIVATE loam_cli)
target_include_directories(loam_guarded PRIVATE tests)
target_link_options(loam_guarded PRIVATE -Wl,--wrap=device_open_cpu)
add_dependencies(loam_guarded loam)
# The program with weights that faulty memory changes (tests/spoiled), for scripts that find it beside loam.
add_executable(loam_spoiled src/cli/main.c tests/spoiled/spoiled.c)
target_link_libraries(loam_spoiled PRIVATE loam_cli)
target_link_options(loam_spoiled PRIVATE -Wl,--wrap=train_step)
add_dependencies(loam_spoiled loam)
# The program with a count of what each training step takes from the system (tests/steady). Sanitizers have a malloc of
# their own.
if(NOT LOAM_SANITIZE)
  add_executable(loam_steady src/cli/main.c tests/steady/steady.c)
  target_link_libraries(loam_steady PRIVATE loam_cli OpenMP::OpenMP_C)
  target_link_options(loam_steady PRIVATE -Wl,--wrap=train_step)
  add_dependencies(loam_steady loam)
  loam_test(steady/test_steady_step tests/steady/test_steady_step.sh bash tests/steady/test_steady_step.sh $<TARGET_FILE:loam>
            $<TARGET_FILE:loam_steady>)
endif()

set(measures_mfu ON)
loam_test(guarded/test_families tests/guarded/test_families.sh bash tests/guarded/test_families.sh $<TARGET_FILE:loam>
          $<TARGET_FILE:loam_guarded>)
