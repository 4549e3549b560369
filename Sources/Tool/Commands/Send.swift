import ArgumentParser

struct Send: ParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "Send notifications to a few devices or to a list of any length.",
    discussion: """
      One notification, over HTTP/2:

          apns send --p8 AuthKey_ABCDE12345.p8 --team-id TEAM123456 \\
            --topic com.example.app --alert 'Hello' \\
            5f79cfda4d01aa3a11c833f97b52df2a7a210252e21b01faa73d34639ee0e412

      The options that most need, before all others below:

          -a, --alert TEXT     the text; --title, --badge and --sound add to it
          --payload FILE       or the whole payload, as JSON
          -t, --topic ID       the app's bundle ID
          --p8 FILE            the signing key, and
          --team-id ID         its team
          --certificate FILE   or a certificate with its key
          --sandbox            for apps that Xcode installed
          --tokens FILE        a list of devices
          -n, --dry-run        check everything without connecting
          -v, --verbose        log the session

      A list, with a different text for each device. The outcomes go to a file, and --resume \
      continues an interrupted run, even after SIGKILL:

          apns send --certificate provider.pem --alert 'Hello {{name}}' \\
            --tokens devices.csv --results results.jsonl

          apns send --certificate provider.pem --alert 'Hello {{name}}' \\
            --tokens devices.csv --results results.jsonl --resume

      To the simulator, which prints the paths of its certificates:

          apns send --host 127.0.0.1 --port 8443 \\
            --ca simulator-certificates/ca.pem \\
            --certificate simulator-certificates/provider.pem --alert Hello \\
            5f79cfda4d01aa3a11c833f97b52df2a7a210252e21b01faa73d34639ee0e412

      THE PROVIDER identifies itself with a certificate (--certificate or --p12), over HTTP/2 and \
      the binary interface, or with a signing key (--p8 with --team-id), over HTTP/2 only. Apple's \
      services accept no pushes without either.

      A LIST is CSV with column names in the first line, one of them token; CSV without that line, \
      in which the first field is the token; or JSON lines, each an object with a token. {{name}} \
      in the payload is replaced by the device's field of that name: as text within a string, as a \
      JSON value elsewhere. So {"aps":{"badge":{{badge}}}} gets a number, and a --payload that is \
      only {{payload}} gets a whole payload for each device. Without names the second column is \
      {{2}}.

      A LIVE ACTIVITY is started by its app's push-to-start token, and updated and ended by the \
      token of the activity or by a channel. Push type and topic are set automatically, and the \
      timestamp is now:

          apns send --p8 AuthKey_ABCDE12345.p8 --team-id TEAM123456 \\
            --topic com.example.app --live-activity update \\
            --content-state state.json --stale-date +900 \\
            5f79cfda4d01aa3a11c833f97b52df2a7a210252e21b01faa73d34639ee0e412

      With a list, --content-state '{{state}}' takes each device's state from the list.

      A BROADCAST goes to all Live Activities that subscribe to a channel (--channel), or to the \
      channels in a list (--channels), in which the column is "channel". It updates and ends \
      activities; it cannot start one. The service keeps a broadcast for later (--expires-in) only \
      if the channel stores messages.

      RESULTS are JSON lines, one object per line. The first line identifies the list ("list", \
      "bytes") and the run ("run"). A line with "sending_to" has the last device to which the list \
      may have been sent. Every other line is the outcome of a device, in order of arrival. If a \
      device has two, the later one applies:

      \(ResultText.members)

      Apple's console, \(AppleConsole.address), lists deliveries in the sandbox under their unique \
      IDs.

      --resume skips each device that has an outcome, except unknown and expired ones. \
      Notifications that were in flight when the run was killed, at most one window (4 MiB of \
      notifications, see --window), may have arrived: they are resent and marked "again", or, with \
      --at-most-once, not sent and marked unknown. Summary and exit status cover the whole list: 1 \
      if an earlier run had rejections, even if nothing is left to send. In JSON "this_run" has \
      the figures of this run.

      PROGRESS counts outcomes: the bar shows the share of the list that has one, the rate is \
      outcomes per second, and the time left follows from both. Over the binary interface most \
      outcomes come at the end.

      Ctrl-C stops reading the list, waits for the outcomes of the notifications in flight, and \
      reports. After a second Ctrl-C it does not wait, and ends within a second.

      \(Exit.text)
      """)

  @OptionGroup var options: SendOptions

  func run() throws {
    Interruption.watch()
    try options.provider.demand(of: options.service)
    let credentials = try options.provider.credentials()
    let template = try options.template()
    if options.dryRun {
      var run = try DryRun(options, credentials, template)
      throw try run.go()
    }
    var run = try SendRun(options, credentials, template)
    throw try run.go()
  }
}
