<?php

namespace Apns\Laravel;

use Apns\Event;
use RuntimeException;

class CouldNotSendNotification extends RuntimeException
{
    /**
     * The outcome, or null if it was never queued.
     *
     * @var \Apns\Event|null
     */
    public $event;

    /**
     * Create a new exception instance.
     *
     * @param  \Apns\Event|\Apns\Exception  $end
     * @return void
     */
    public function __construct($end)
    {
        $this->event = $end instanceof Event ? $end : null;

        parent::__construct('APNs has not answered: '.($this->event ? $end->why : $end->getMessage()), 0, $this->event ? null : $end);
    }
}
