# The floors from the ground up, and what each needs beyond GLib and the floors below it.
set(LOAM_FLOORS base format text data scores device comm param nn model eval run plan bench report train)

set(libraries_base PkgConfig::YAML PkgConfig::JANSSON PkgConfig::HWLOC PkgConfig::ZLIB PkgConfig::ZSTD PkgConfig::LZMA
                   ${BZIP2_LIBRARY})
set(libraries_format PkgConfig::JANSSON PkgConfig::XXHASH PkgConfig::ZIP PkgConfig::SNAPPY PkgConfig::LZ4
                     PkgConfig::BROTLI)
set(libraries_text PkgConfig::SENTENCEPIECE PkgConfig::JANSSON PkgConfig::XXHASH PkgConfig::PCRE2
                   PkgConfig::TREE_SITTER ${CMAKE_DL_LIBS})
set(libraries_data PkgConfig::XXHASH PkgConfig::JANSSON)
set(libraries_device OpenMP::OpenMP_C ${DNNL_LIBRARY})
set(libraries_comm Threads::Threads ${CMAKE_DL_LIBS})
set(libraries_param PkgConfig::JANSSON PkgConfig::XXHASH)
set(libraries_eval PkgConfig::SECCOMP)
set(libraries_train PkgConfig::JANSSON Threads::Threads)

# A static library a floor; a floor links the one below it, so nothing can reach upwards.
set(below "")
foreach(floor ${LOAM_FLOORS})
  file(GLOB_RECURSE sources CONFIGURE_DEPENDS src/${floor}/*.c src/${floor}/*.cc)
  list(FILTER sources EXCLUDE REGEX "src/(device/cpu/(kernels|bf16)/|comm/mpi/library.c)")
  if(sources)
    add_library(loam_${floor} STATIC ${sources})
    target_include_directories(loam_${floor} PUBLIC src)
    target_link_libraries(loam_${floor} PUBLIC ${libraries_${floor}} ${below} PkgConfig::GLIB m)
    set(below loam_${floor})
  endif()
endforeach()

# The style and the script of reports, and the program that tests completions, as strings. loam_embed(TARGET FILE NAME): `const char NAME[]` holds FILE.
function(loam_embed target file name)
  file(READ ${file} bytes HEX)
  string(REGEX REPLACE "([0-9a-f][0-9a-f])" "'\\\\x\\1'," bytes "${bytes}")
  set(embedded ${CMAKE_BINARY_DIR}/embedded/${name}.c)
  file(CONFIGURE OUTPUT ${embedded} CONTENT "extern const char ${name}[];\nconst char ${name}[] = { ${bytes} 0 };\n")
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${file})
  target_sources(${target} PRIVATE ${embedded})
endfunction()
loam_embed(loam_eval ${CMAKE_SOURCE_DIR}/src/eval/programs/harness.py program_harness)
loam_embed(loam_report ${CMAKE_SOURCE_DIR}/src/report/page.css report_page_css)
loam_embed(loam_report ${CMAKE_SOURCE_DIR}/src/report/page.js report_page_js)

# Sums over ranks read memory as fast as it comes, if the compiler vectorises them.
set_source_files_properties(src/comm/sum.c PROPERTIES COMPILE_OPTIONS -O3)

# A kernel is one source built for each instruction set; the cpu device chooses between them when it opens.
function(add_kernels folder isa flags)
  file(GLOB kernels CONFIGURE_DEPENDS src/device/cpu/${folder}/*.c)
  set(name loam_${folder}_${isa})
  add_library(${name} OBJECT ${kernels})
  target_compile_definitions(${name} PRIVATE ISA=${isa})
  # clang, which only checks, does not vectorise the maximum of a row and says so. With sanitizers, -O1 would keep sums of
  # products in memory, each access of them checked.
  target_compile_options(${name} PRIVATE ${flags} -fno-trapping-math $<$<CONFIG:Release>:-O3> $<$<BOOL:${LOAM_SANITIZE}>:-O2>
                         $<$<C_COMPILER_ID:Clang>:-Wno-pass-failed>
                         $<$<BOOL:${LOAM_COVERAGE}>:-O3;-fno-profile-arcs;-fno-test-coverage>)
  target_include_directories(${name} PRIVATE src)
  target_link_libraries(${name} PRIVATE OpenMP::OpenMP_C)
  target_sources(loam_device PRIVATE $<TARGET_OBJECTS:${name}>)
endfunction()

if(CMAKE_SYSTEM_PROCESSOR MATCHES "^(x86_64|amd64|AMD64)$")
  set(avx512 -march=x86-64-v4 -mprefer-vector-width=512)
  add_kernels(kernels avx2 -march=x86-64-v3)
  add_kernels(kernels avx512 "${avx512}")
  add_kernels(kernels avx512_bf16 "${avx512};-mavx512bf16")
  add_kernels(bf16 avx512_bf16 "${avx512};-mavx512bf16")
  add_kernels(bf16 amx "${avx512};-mavx512bf16;-mamx-tile;-mamx-bf16")
elseif(CMAKE_SYSTEM_PROCESSOR STREQUAL "aarch64")
  add_kernels(kernels neon "-march=armv8-a;-ffp-contract=fast")
else()
  message(FATAL_ERROR "loam has kernels for x86_64 and aarch64, not for ${CMAKE_SYSTEM_PROCESSOR}")
endif()
