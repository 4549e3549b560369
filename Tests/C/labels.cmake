# Which programs meet threads, which valgrind plays by default, and which take long.

set(with_threads
  cpp/client_test cpp/loop_test deadlines_test event_loop_test feedback_test fork_test log_test lookup_test metrics_test
  push_metrics_test readme_test threads_test token_cache_test token_callbacks_test)

# They begin first, so that nothing waits for them in the end.
set(take_long json_reading_test keychain_test push_connections_test hostile_service_test http2_test
  retries_test causes_test push_renew_test provider_tokens_test token_callbacks_test log_test)

# They read untrusted input: bytes that are not there, or were never written, are likeliest here.
set(memcheck_first
  json_reading_test payload_test payload_check_test strings_test tokens_test error_packets_test
  feedback_test key_shapes_test keychain_test provider_tokens_test hostile_service_test http2_test texts_test)

# The others, in shares of some 150 s of a processor.
set(memcheck_1
  addresses_test causes_test connections_test cpp/session_test doubt_test due_times_test keepalive_test
  proxy_test push_metrics_test renew_test standby_test tls_flood_test without_binary_test
  without_http2_test)
set(memcheck_2
  advice_test channels_test cpp/http2_test cpp/values_test dying_peer_test log_test
  push_connections_test push_due_times_test push_renew_test resumption_test stats_test token_cache_test)
set(memcheck_3
  broadcast_test checks_test cpp/loop_test credentials_test event_loop_test lookup_test
  push_event_loop_test readme_test retries_test structures_test token_callbacks_test)
set(memcheck_4
  broken_rules_test cancel_test closing_test cpp/payload_test deadlines_test fork_test metrics_test
  push_feedback_test reasons_test sending_test system_trust_test verification_test)
set(memcheck_5
  carried_over_test connection_limit_test cpp/client_test cpp/plain_test descriptors_test hardware_keys_test
  on_outcome_test outcome_deadlines_test
  proof_test push_headers_test push_outcome_test reconnects_test sendpayload_test several_identities_test threads_test
  unquoted_test untaken_test waiting_test)

function(apns_memcheck_label checked)
  string(REGEX REPLACE "^memcheck/" "" theme ${checked})
  if(theme IN_LIST memcheck_first)
    set_tests_properties(${checked} PROPERTIES LABELS memcheck)
    return()
  endif()
  foreach(share 1 2 3 4 5)
    if(theme IN_LIST memcheck_${share})
      set_tests_properties(${checked} PROPERTIES LABELS memcheck-${share})
      return()
    endif()
  endforeach()
  message(FATAL_ERROR "${checked} is in no share of Tests/C/labels.cmake")
endfunction()
