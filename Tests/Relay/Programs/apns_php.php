<?php
// apns_php.php PORT FEEDBACK_PORT CERTIFICATE TOKENS: pushes as ApnsPHP did: a queue, command 1 with identifiers from
// 1, a check for an error packet after each write, and a second's wait at the end of the queue. After an error packet
// it resends all notifications after the rejected one on a new connection. Then it reads the feedback list. Prints a
// line for each reported token, after "packet" or "feedback".
class Push {
    const EXPIRY = 604800;
    private $socket;
    private $queue = array();
    private $errors = array();
    public function __construct($port, $certificate) {
        $this->port = $port;
        $this->certificate = $certificate;
    }
    public function connect() {
        $context = stream_context_create(array('ssl' => array('verify_peer' => false, 'verify_peer_name' => false, 'local_cert' => $this->certificate)));
        $this->socket = stream_socket_client("ssl://localhost:$this->port", $number, $error, 10, STREAM_CLIENT_CONNECT, $context);
        if (!$this->socket) exit("Unable to connect: $error");
        stream_set_blocking($this->socket, 0);
        stream_set_write_buffer($this->socket, 0);
    }
    public function disconnect() { if (is_resource($this->socket)) fclose($this->socket); }
    public function add($token) { $this->queue[count($this->queue) + 1] = $token; }
    public function send() {
        while ($this->queue) {
            foreach ($this->queue as $id => $token) {
                $payload = json_encode(array('aps' => array('alert' => 'Hello', 'badge' => 1, 'sound' => 'default')));
                $frame = pack('CNNnH*', 1, $id, time() + self::EXPIRY, 32, $token) . pack('n', strlen($payload)) . $payload;
                for ($written = 0; $written < strlen($frame); ) {
                    $count = @fwrite($this->socket, substr($frame, $written));
                    if ($count === false) break;
                    if ($count === 0) usleep(1000);
                    $written += $count;
                    if ($count === 0 && $this->updateQueue()) continue 3;
                }
                if ($this->updateQueue()) continue 2;
            }
            $read = array($this->socket);
            $null = null;
            if (stream_select($read, $null, $null, 1, 0) > 0 && $this->updateQueue()) continue;
            $this->queue = array();
        }
        return $this->errors;
    }
    private function updateQueue() {
        $answer = @fread($this->socket, 6);
        if (strlen((string) $answer) != 6) return false;
        $answer = unpack('Ccommand/CstatusCode/Nidentifier', $answer);
        if ($answer['statusCode'] != 8) exit("status $answer[statusCode]");
        $this->errors[] = $this->queue[$answer['identifier']];
        foreach (array_keys($this->queue) as $id) if ($id <= $answer['identifier']) unset($this->queue[$id]);
        $this->disconnect();
        $this->connect();
        return true;
    }
}

$push = new Push($argv[1], $argv[3]);
$push->connect();
foreach (preg_split('/\s+/', file_get_contents($argv[4]), -1, PREG_SPLIT_NO_EMPTY) as $token) $push->add($token);
foreach ($push->send() as $token) print "packet $token\n";
$push->disconnect();

$context = stream_context_create(array('ssl' => array('verify_peer' => false, 'verify_peer_name' => false, 'local_cert' => $argv[3])));
$feedback = stream_socket_client("ssl://localhost:$argv[2]", $number, $error, 10, STREAM_CLIENT_CONNECT, $context);
$list = stream_get_contents($feedback);
foreach (str_split($list, 38) as $tuple) if (strlen($tuple) == 38) print 'feedback ' . bin2hex(substr($tuple, 6)) . "\n";
