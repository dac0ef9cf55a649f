# tests/fuzz/fuzz_NAME.c is a libFuzzer program, seeded from tests/fuzz/seeds/NAME; needs clang. The floors are
# built a second time for it, with coverage and sanitizers, so that the other targets stay as they are.
if(NOT CMAKE_C_COMPILER_ID STREQUAL Clang)
  message(FATAL_ERROR "LOAM_FUZZ needs clang: cmake -DCMAKE_C_COMPILER=clang -DCMAKE_CXX_COMPILER=clang++")
endif()

set(fuzzed_sources "")
set(fuzzed_libraries "")
foreach(floor ${LOAM_FLOORS})
  if(TARGET loam_${floor})
    get_target_property(sources loam_${floor} SOURCES)
    list(APPEND fuzzed_sources ${sources})
    list(APPEND fuzzed_libraries ${libraries_${floor}})
  endif()
endforeach()

foreach(reader prompts answers_file task/submission) # which no floor has
  list(APPEND fuzzed_sources ${CMAKE_SOURCE_DIR}/src/cli/${reader}.c)
endforeach()

set(fuzz_sanitizers -fsanitize=address,undefined -fno-sanitize-recover=undefined)
add_library(loam_fuzzed STATIC ${fuzzed_sources})
target_include_directories(loam_fuzzed PUBLIC src)
target_compile_options(loam_fuzzed PRIVATE -O1 -fno-omit-frame-pointer -fsanitize=fuzzer-no-link ${fuzz_sanitizers})
target_link_libraries(loam_fuzzed PUBLIC ${fuzzed_libraries} PkgConfig::GLIB m)

file(GLOB configs CONFIGURE_DEPENDS tests/parity/*/config.json)
foreach(config ${configs}) # seeds of every architecture
  get_filename_component(folder ${config} DIRECTORY)
  get_filename_component(model ${folder} NAME)
  configure_file(${config} ${CMAKE_BINARY_DIR}/fuzz/hf_config/${model} COPYONLY)
endforeach()

# As a test each runs briefly and reproducibly, with the words of tests/fuzz/dictionaries/NAME; tests/tools/long_fuzz.sh
# gives each a million runs. libFuzzer's own exit status of a crash, 77, would count as skipped. By hand: fuzz_NAME CORPUS_FOLDER tests/fuzz/seeds/NAME.
file(GLOB sources CONFIGURE_DEPENDS tests/fuzz/fuzz_*.c)
foreach(source ${sources})
  get_filename_component(program ${source} NAME_WE)
  string(REPLACE fuzz_ "" name ${program})
  set(seeds ${CMAKE_SOURCE_DIR}/tests/fuzz/seeds/${name})
  if(NOT EXISTS ${seeds})
    set(seeds "")
  endif()
  set(dictionary ${CMAKE_SOURCE_DIR}/tests/fuzz/dictionaries/${name})
  if(EXISTS ${dictionary})
    set(seeds -dict=${dictionary} ${seeds})
  endif()
  add_executable(${program} ${source})
  target_compile_options(${program} PRIVATE -O1 -fsanitize=fuzzer ${fuzz_sanitizers})
  target_link_options(${program} PRIVATE -fsanitize=fuzzer ${fuzz_sanitizers})
  target_link_libraries(${program} PRIVATE loam_fuzzed)
  target_compile_definitions(${program} PRIVATE LOAM_TEST_GRAMMARS="${CMAKE_BINARY_DIR}/test-grammars")
  add_dependencies(${program} grammar_lists)
  file(MAKE_DIRECTORY ${CMAKE_BINARY_DIR}/fuzz/${name})
  # A frame of zstd may ask for a window of 2 GiB, which libFuzzer's own limit, 2,048 MiB, does not allow.
  loam_test(fuzz/${name} ${source} ${program} -seed=1 -runs=20000 -max_total_time=60 -error_exitcode=1 -malloc_limit_mb=3072
            -artifact_prefix=${CMAKE_BINARY_DIR}/fuzz/${name}- ${CMAKE_BINARY_DIR}/fuzz/${name} ${seeds})
endforeach()
