<?php
// One push in the worker's session, and the outcomes that the request looks for.
$options = ['outcomes' => 'failures'] + (isset($_GET['request']) ? ['request' => $_GET['request']] : []);
$session = Apns\Session::persistent('main', null, $options);
$payload = ['aps' => ['alert' => 'Hello ' . $_GET['name']]];
$session->send($_GET['device'], $payload, ['name' => $_GET['name']], more: (bool) ($_GET['more'] ?? false));
if (($_GET['end'] ?? '') === 'exit') exit('exit');
if (($_GET['end'] ?? '') === 'memory') {
    ini_set('memory_limit', '4M');
    $all = [];
    while (true) $all[] = str_repeat('x', 100000);
}
$tell = fn ($event) => [$event->request, (string) $event, $event->token, $event->userData];
$answer = ['worker' => getmypid(), 'taken' => $session->stats()['taken'], 'own' => [], 'left' => []];
if (isset($_GET['look'])) {
    $session->drain(10000);
    foreach ($session as $event) $answer['own'][] = $tell($event);
    if ($_GET['look'] === 'both') foreach ($session->leftEvents() as $event) $answer['left'][] = $tell($event);
}
echo json_encode($answer);
