/** Here the program that pushes is curl. With JUnit each method is a @Test. */
public class PushTest {
    private static final String TOKEN = "5f79cfda".repeat(8);

    void theAlertArrives(ApnsSimulator apns) throws Exception {
        check(push(apns, "{\"aps\":{\"alert\":\"Hello\"}}").equals("200"));
        check(apns.pushes().contains("\"token\":\"" + TOKEN + "\""));
    }

    void aBadToken(ApnsSimulator apns) throws Exception {
        apns.reject(TOKEN, "BadDeviceToken");
        check(push(apns, "{\"aps\":{\"alert\":\"Hello\"}}").equals("400"));
        check(apns.pushes().contains("\"total\":0"));
    }

    /** The status. */
    private static String push(ApnsSimulator apns, String payload) throws Exception {
        Process curl = new ProcessBuilder("curl", "--silent", "--http2", "--output", "/dev/null", "--write-out", "%{http_code}",
            "--cacert", ApnsSimulator.member("ca"), "--cert", ApnsSimulator.member("provider"), "--data-binary", payload,
            "https://127.0.0.1:" + apns.port + "/3/device/" + TOKEN).start();
        return new String(curl.getInputStream().readAllBytes());
    }

    private static void check(boolean holds) {
        if (!holds) throw new AssertionError();
    }

    public static void main(String[] arguments) throws Exception {
        try (ApnsSimulator apns = ApnsSimulator.open()) { new PushTest().theAlertArrives(apns); }
        try (ApnsSimulator apns = ApnsSimulator.open()) { new PushTest().aBadToken(apns); }
        System.out.println("OK (2 tests)");
        System.exit(0);
    }
}
