<?php
// apns_service.php PORT CERTIFICATE FIRST COUNT: the class of 2012, with only host and port changed. A stub replaces
// the framework that gives it the certificate's path.
class Yii {
    public static $certificate;
    public static $port;
    public static function getPathOfAlias($name) { return dirname(self::$certificate); }
}
Yii::$port = $argv[1];
Yii::$certificate = $argv[2];

class ApnsService {
    public $token;
    public $message;
    public $badge = 1;
    public $sound;
    public $ispad;
    public function __construct($token, $message, $badge = null, $sound = null, $ispad = 0) {
        $this->token = $token;
        $this->message = $message;
        $this->badge = $badge;
        $this->sound = $sound;
        $this->ispad = (int)$ispad;
    }
    public function send() {
        return $this->sendPushInfo();
    }
    public function sandboxSend() {
        return $this->sendPushInfo(true);
    }
    private function getPayload() {
        $body = array();
        if ($this->badge) {
            $body['aps']['badge'] = $this->badge;
        }
        if ($this->sound) {
            $body['aps']['sound'] = $this->sound;
        }
        $body['aps']['alert'] = $this->message;
        return $body;
    }
    private function getCertFile() {
        return Yii::getPathOfAlias("application") . ($this->ispad ? "/hdDis.pem" : "/iphoneDis.pem");
    }
    private function getSandboxCertFile() {
        return Yii::getPathOfAlias("application") . ($this->ispad ? "/hdDev.pem" : "/iphoneDev.pem");
    }
    private function getApplePushUrl($isSandbox = false) {
        return ($isSandbox == true ? "ssl://localhost:" . Yii::$port : "ssl://localhost:" . Yii::$port);
    }
    private function sendPushInfo($isSandbox = false) {
        $ctx = stream_context_create();
        stream_context_set_option($ctx, 'ssl', 'local_cert',
            ($isSandbox == true
            ? $this->getSandboxCertFile()
            : $this->getCertFile())
        );

        $fp = stream_socket_client($this->getApplePushUrl($isSandbox), $err, $errstr, 60, STREAM_CLIENT_CONNECT, $ctx);
        if (!$fp) {
            print "Failed to connect $err $errstr\n";
            return false;
        } else {

        }
        $payload = json_encode($this->getPayload());

        $msg = chr(0) . pack("n", 32) . pack('H*', str_replace(' ', '', $this->token)) . pack("n", strlen($payload)) . $payload;
        fwrite($fp, $msg);
        fclose($fp);
        return true;
    }
}

for ($number = (int) $argv[3]; $number < $argv[3] + $argv[4]; $number++) {
    // In groups, as iOS printed tokens.
    $token = implode(' ', str_split(sprintf('%064x', $number), 8));
    $push = new ApnsService($token, 'Hello', 1, 'default');
    if (!$push->send()) exit(1);
}
