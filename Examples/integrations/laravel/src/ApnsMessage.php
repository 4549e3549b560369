<?php

namespace Apns\Laravel;

class ApnsMessage
{
    /**
     * The parts of the alert, by Apple's names.
     *
     * @var array
     */
    public $alert = [];

    /**
     * The whole alert, if it has no parts.
     *
     * @var string|array|null
     */
    public $customAlert;

    /**
     * The other keys of "aps", by Apple's names.
     *
     * @var array
     */
    public $aps = [];

    /**
     * The app's own keys.
     *
     * @var array
     */
    public $custom = [];

    /**
     * The options of \Apns\Session::push(), by the names of its parameters.
     *
     * @var array
     */
    public $options = [];

    /**
     * Create a new message instance.
     *
     * @param  string|null  $title
     * @param  string|null  $body
     * @param  array  $custom
     * @param  int|null  $badge
     * @return void
     */
    public function __construct($title = null, $body = null, array $custom = [], $badge = null)
    {
        $this->alert = array_filter(['title' => $title, 'body' => $body], 'is_string');
        $this->aps = array_filter(['badge' => $badge], 'is_int');
        $this->custom = $custom;
    }

    /**
     * Create a new message instance.
     *
     * @param  string|null  $title
     * @param  string|null  $body
     * @param  array  $custom
     * @param  int|null  $badge
     * @return static
     */
    public static function create($title = null, $body = null, array $custom = [], $badge = null)
    {
        return new static($title, $body, $custom, $badge);
    }

    /**
     * Set the alert's title.
     *
     * @param  string  $title
     * @return $this
     */
    public function title($title)
    {
        return $this->with('alert', 'title', $title);
    }

    /**
     * Set the alert's subtitle.
     *
     * @param  string  $subtitle
     * @return $this
     */
    public function subtitle($subtitle)
    {
        return $this->with('alert', 'subtitle', $subtitle);
    }

    /**
     * Set the alert's text.
     *
     * @param  string  $body
     * @return $this
     */
    public function body($body)
    {
        return $this->with('alert', 'body', $body);
    }

    /**
     * Set the key of the title in the app's Localizable.strings.
     *
     * @param  string|null  $key
     * @return $this
     */
    public function titleLocKey($key)
    {
        return $this->with('alert', 'title-loc-key', $key);
    }

    /**
     * Set the arguments of that title.
     *
     * @param  array|null  $args
     * @return $this
     */
    public function titleLocArgs($args)
    {
        return $this->with('alert', 'title-loc-args', $args);
    }

    /**
     * Set the key of the action button's text.
     *
     * @param  string|null  $key
     * @return $this
     */
    public function actionLocKey($key)
    {
        return $this->with('alert', 'action-loc-key', $key);
    }

    /**
     * Set the key of the text in the app's Localizable.strings.
     *
     * @param  string|null  $key
     * @return $this
     */
    public function setLocKey($key)
    {
        return $this->with('alert', 'loc-key', $key);
    }

    /**
     * Set the arguments of that text.
     *
     * @param  array|null  $args
     * @return $this
     */
    public function setLocArgs($args)
    {
        return $this->with('alert', 'loc-args', $args);
    }

    /**
     * Set the whole alert, instead of its parts.
     *
     * @param  string|array  $alert
     * @return $this
     */
    public function setCustomAlert($alert)
    {
        $this->customAlert = $alert;

        return $this;
    }

    /**
     * Set the number on the app's icon.
     *
     * @param  int  $badge
     * @return $this
     */
    public function badge($badge)
    {
        return $this->with('aps', 'badge', $badge);
    }

    /**
     * Set the sound.
     *
     * @param  string  $sound
     * @return $this
     */
    public function sound($sound = 'default')
    {
        return $this->with('aps', 'sound', $sound);
    }

    /**
     * Set the category, which decides about action buttons.
     *
     * @param  string  $category
     * @return $this
     */
    public function category($category)
    {
        return $this->with('aps', 'category', $category);
    }

    /**
     * Set the thread by which the device groups notifications.
     *
     * @param  string  $threadId
     * @return $this
     */
    public function threadId($threadId)
    {
        return $this->with('aps', 'thread-id', $threadId);
    }

    /**
     * Wake the app up.
     *
     * @param  int  $value
     * @return $this
     */
    public function contentAvailable($value = 1)
    {
        return $this->with('aps', 'content-available', $value);
    }

    /**
     * Let the app's service extension change the notification.
     *
     * @param  int  $value
     * @return $this
     */
    public function mutableContent($value = 1)
    {
        return $this->with('aps', 'mutable-content', $value);
    }

    /**
     * Set the interruption level.
     *
     * @param  string  $level
     * @return $this
     */
    public function interruptionLevel($level)
    {
        return $this->with('aps', 'interruption-level', $level);
    }

    /**
     * Add a key of the app.
     *
     * @param  string  $key
     * @param  mixed  $value
     * @return $this
     */
    public function custom($key, $value)
    {
        $this->custom[$key] = $value;

        return $this;
    }

    /**
     * Replace the app's own keys.
     *
     * @param  array  $custom
     * @return $this
     */
    public function setCustom(array $custom)
    {
        $this->custom = $custom;

        return $this;
    }

    /**
     * Add the app's key "action".
     *
     * @param  string  $action
     * @param  mixed  $params
     * @return $this
     */
    public function action($action, $params = null)
    {
        return $this->custom('action', ['action' => $action, 'params' => $params]);
    }

    /**
     * Set until when APNs keeps trying.
     *
     * @param  \DateTimeInterface|int  $expiresAt
     * @return $this
     */
    public function expiresAt($expiresAt)
    {
        return $this->with('options', 'expiry', $expiresAt);
    }

    /**
     * Set the priority: 10, 5 or 1.
     *
     * @param  \Apns\Priority|int  $priority
     * @return $this
     */
    public function priority($priority)
    {
        return $this->with('options', 'priority', $priority);
    }

    /**
     * Set the push type.
     *
     * @param  \Apns\PushType|string  $pushType
     * @return $this
     */
    public function pushType($pushType)
    {
        return $this->with('options', 'pushType', $pushType);
    }

    /**
     * Set the collapse ID: a later notification with the same one replaces this one on the device.
     *
     * @param  string  $collapseId
     * @return $this
     */
    public function collapseId($collapseId)
    {
        return $this->with('options', 'collapseId', $collapseId);
    }

    /**
     * Set the apns-id, a UUID.
     *
     * @param  string|null  $apnsId
     * @return $this
     */
    public function apnsId($apnsId)
    {
        return $this->with('options', 'apnsId', $apnsId);
    }

    /**
     * Set the topic, instead of the bundle ID.
     *
     * @param  string  $topic
     * @return $this
     */
    public function topic($topic)
    {
        return $this->with('options', 'topic', $topic);
    }

    /**
     * Get the payload.
     *
     * @return array
     */
    public function toPayload()
    {
        $alert = $this->customAlert ?: $this->alert;

        return ['aps' => ($alert ? ['alert' => $alert] : []) + $this->aps] + $this->custom;
    }

    /**
     * Set a member of a property, or remove it with null.
     *
     * @param  string  $property
     * @param  string  $key
     * @param  mixed  $value
     * @return $this
     */
    private function with($property, $key, $value)
    {
        if ($value === null) {
            unset($this->{$property}[$key]);
        } else {
            $this->{$property}[$key] = $value;
        }

        return $this;
    }
}
