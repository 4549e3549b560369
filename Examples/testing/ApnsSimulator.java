import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.file.Files;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/** An APNs for each test: open() in @BeforeEach, close() in @AfterEach. All share one simulator. */
public class ApnsSimulator implements AutoCloseable {
    private static String ready;
    private static final HttpClient control = HttpClient.newHttpClient();

    public final int port;
    private final String path;

    private ApnsSimulator(String world) {
        port = Integer.parseInt(member(world, "http2_port"));
        path = member(world, "path");
    }

    public static synchronized ApnsSimulator open() throws Exception {
        if (ready == null) {
            String program = System.getenv().getOrDefault("APNS_SIMULATOR", "apns");
            Process process = new ProcessBuilder(program, "simulate", "--json", "--http2-port", "0", "--control-port", "0",
                "--parent", "" + ProcessHandle.current().pid(), "--certificates", "" + Files.createTempDirectory("apns"),
                "--log-level", "error").redirectError(ProcessBuilder.Redirect.INHERIT).start();
            ready = new BufferedReader(new InputStreamReader(process.getInputStream())).readLine();
        }
        return new ApnsSimulator(request("POST", "/worlds", ""));
    }

    /** A file or a name of the simulator: ca, provider, token_key, token_key_id, token_team_id. */
    public static String member(String name) { return member(ready, name); }

    /** The accepted pushes as JSON. */
    public String pushes() throws Exception { return request("GET", path + "/accepted?limit=10000", ""); }

    public void reject(String token, String reason) throws Exception {
        request("POST", path + "/rejections", "{\"token\":\"" + token + "\",\"reason\":\"" + reason + "\"}");
    }

    @Override public void close() throws Exception { request("DELETE", path, ""); }

    private static String member(String json, String name) {
        Matcher found = Pattern.compile("\"" + name + "\":\"?([^\",}]*)").matcher(json);
        return found.find() ? found.group(1) : null;
    }

    private static String request(String method, String path, String body) throws Exception {
        URI address = URI.create("http://127.0.0.1:" + member("control_port") + path);
        return control.send(HttpRequest.newBuilder(address).method(method, HttpRequest.BodyPublishers.ofString(body)).build(),
            HttpResponse.BodyHandlers.ofString()).body();
    }
}
