// The fields of Perfetto's trace format that dynpar writes: numbers and names as in protos/perfetto/ of Perfetto's
// repository. A message has an enumeration, and an enumerator's comment says what type its field is.
#pragma once

#include <protozero/types.hpp>

namespace dynpar::perfetto {

using tag = protozero::pbf_tag_type;

enum class trace_field : tag {  // trace/trace.proto
    packet = 1,                 // trace_packet_field, repeated
};

enum class trace_packet_field : tag {  // trace/trace_packet.proto
    clock_snapshot = 6,                // clock_snapshot_field
    timestamp = 8,                     // uint64
    trusted_packet_sequence_id = 10,   // uint32
    track_event = 11,                  // track_event_field
    interned_data = 12,                // interned_data_field
    sequence_flags = 13,               // uint32
    compressed_packets = 50,           // bytes: a trace_field, in zlib's format
    trace_packet_defaults = 59,        // trace_packet_defaults_field
    track_descriptor = 60,             // track_descriptor_field
    trace_attributes = 126,            // trace_attributes_field
};

constexpr unsigned seq_incremental_state_cleared = 1;  // values of sequence_flags
constexpr unsigned seq_needs_incremental_state = 2;

enum class clock_snapshot_field : tag {  // trace/clock_snapshot.proto
    clocks = 1,                          // clock_field, repeated
};

enum class clock_field : tag {
    clock_id = 1,        // uint32
    timestamp = 2,       // uint64
    is_incremental = 3,  // bool
};

constexpr unsigned clock_boottime = 6;  // common/builtin_clock.proto: what viewers show
constexpr unsigned clock_own = 64;      // the first that a sequence of packets may have for itself

enum class trace_packet_defaults_field : tag {  // trace/trace_packet_defaults.proto
    timestamp_clock_id = 58,                    // uint32
};

enum class trace_attributes_field : tag {  // common/trace_attributes.proto
    attribute = 1,                         // attribute_field, repeated
};

enum class attribute_field : tag {
    key = 1,           // string
    string_value = 3,  // string
};

enum class track_descriptor_field : tag {  // trace/track_event/track_descriptor.proto
    uuid = 1,                              // uint64
    name = 2,                              // string
    process = 3,                           // process_descriptor_field
    parent_uuid = 5,                       // uint64
    counter = 8,                           // counter_descriptor_field
    child_ordering = 11,                   // enumeration
    sibling_order_rank = 12,               // int32
};

constexpr int child_ordering_explicit = 3;

enum class process_descriptor_field : tag {  // trace/track_event/process_descriptor.proto
    pid = 1,                                 // int32
    cmdline = 2,                             // string, repeated
    process_name = 6,                        // string
};

enum class counter_descriptor_field : tag {  // trace/track_event/counter_descriptor.proto
    unit = 3,                                // enumeration
};

constexpr int unit_count = 2;

enum class track_event_field : tag {  // trace/track_event/track_event.proto
    category_iids = 3,                // uint64, repeated
    debug_annotations = 4,            // debug_annotation_field, repeated
    type = 9,                         // enumeration
    name_iid = 10,                    // uint64
    track_uuid = 11,                  // uint64
    name = 23,                        // string
    counter_value = 30,               // int64
    flow_ids = 47,                    // fixed64, repeated
    terminating_flow_ids = 48,        // fixed64, repeated
};

constexpr int type_slice_begin = 1;
constexpr int type_slice_end = 2;
constexpr int type_instant = 3;
constexpr int type_counter = 4;

enum class debug_annotation_field : tag {  // trace/track_event/debug_annotation.proto
    name_iid = 1,                          // uint64
    uint_value = 3,                        // uint64
    string_value = 6,                      // string
    name = 10,                             // string
    string_value_iid = 17,                 // uint64
};

enum class interned_data_field : tag {    // trace/interned_data/interned_data.proto
    event_categories = 1,                 // interned_string_field, repeated; so the others
    event_names = 2,                      //
    debug_annotation_names = 3,           //
    debug_annotation_string_values = 29,  //
};

enum class interned_string_field : tag {  // EventCategory, EventName, DebugAnnotationName, InternedString
    iid = 1,                              // uint64
    text = 2,                             // string
};

}  // namespace dynpar::perfetto
