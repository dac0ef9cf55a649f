# The floors from the ground up, and what each needs beyond GLib and the floors below it.
set(LOAM_FLOORS base format text data device param nn model eval train)

set(libraries_base PkgConfig::YAML PkgConfig::JANSSON)
set(libraries_format PkgConfig::JANSSON PkgConfig::XXHASH PkgConfig::PROTOBUF_C)
set(libraries_text PkgConfig::SENTENCEPIECE)
set(libraries_data PkgConfig::ZSTD PkgConfig::ZLIB PkgConfig::XXHASH PkgConfig::JANSSON)
set(libraries_device OpenMP::OpenMP_C PkgConfig::SLEEF ${DNNL_LIBRARY})
set(libraries_param PkgConfig::JANSSON PkgConfig::XXHASH)
set(libraries_train PkgConfig::JANSSON PkgConfig::PROTOBUF_C Threads::Threads)

# A static library a floor; a floor links the one below it, so nothing can reach upwards.
set(below "")
foreach(floor ${LOAM_FLOORS})
  file(GLOB_RECURSE sources CONFIGURE_DEPENDS src/${floor}/*.c src/${floor}/*.cc)
  if(sources)
    add_library(loam_${floor} STATIC ${sources})
    target_include_directories(loam_${floor} PUBLIC src)
    target_link_libraries(loam_${floor} PUBLIC ${libraries_${floor}} ${below} PkgConfig::GLIB m)
    set(below loam_${floor})
  endif()
endforeach()
