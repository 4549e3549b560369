/*
 * The protocol between relays and their queue, for spin, which plays every order of the steps.
 *
 * A step is one call of the queue, or one write to APNs, with what the worker does until the next. A relay may be killed
 * before each step. Every step has the name of the function that it describes, and its file in Sources/Relay.
 * Tests/Relay/Model/run has the configurations, and the bugs (BUG_…, OPEN_…) that spin must find.
 *
 * An even entry is in the lane bulk, an odd one in urgent. Entry 0 is of the campaign that is cancelled.
 */

#define RELAYS 2
#ifndef ENTRIES
#define ENTRIES 2
#endif
/* 1 or 2 devices of each entry. */
#ifndef BULK_DEVICES
#define BULK_DEVICES 1
#endif
#ifndef URGENT_DEVICES
#define URGENT_DEVICES 1
#endif

/* How often each fault happens at most: SIGKILL, SIGSTOP past the lease, SIGTERM, a line to the queue that is cut for
   longer than the lease, a lost reply of the queue, a lost connection to APNs, a 429, a repeated enqueue. */
#ifndef KILLS
#define KILLS 0
#endif
#ifndef STOPS
#define STOPS 0
#endif
#ifndef ENDS
#define ENDS 0
#endif
#ifndef CUTS
#define CUTS 0
#endif
#ifndef REPLIES
#define REPLIES 0
#endif
#ifndef LINES
#define LINES 0
#endif
#ifndef RETRIES
#define RETRIES 0
#endif
#ifndef REPEATS
#define REPEATS 0
#endif

/* Worker IDs: one for each start of a relay, and one for each lease that expires. */
#if KILLS + STOPS + ENDS + CUTS > 3
#error "worker IDs for at most three faults"
#endif
#define WORKERS 6
#define DEVICES(e) ((e) % 2 -> URGENT_DEVICES : BULK_DEVICES)
#define IS_URGENT(e) ((e) % 2)
#define OF_CAMPAIGN(e) ((e) == 0)
/* A lane that waits gets one of so many notifications (16 in Entries/Lane.swift). */
#define SHARE 2

#if defined(CANCELS) || defined(PAUSES)
#define HAS_ORDERS
#endif

byte kills = KILLS, stops = STOPS, ends = ENDS, cuts = CUTS, replies = REPLIES, lines = LINES, retries = RETRIES,
  repeats = REPEATS;

/* ---- The queue --------------------------------------------------------------------------------------------------- */

#define NEW 0
#define WAITING 1
#define HELD 2
#define FINISHED 3
byte state[ENTRIES];
byte holder[ENTRIES];
byte deliveries[ENTRIES];
byte deferrals[ENTRIES];
/* Its due says "paused". */
bit parked[ENTRIES];

/* A row of `workers`, with the relay in whose process it works. Numbers only grow. */
bit registered[WORKERS];
byte process[WORKERS];
byte workers = 0;

/* The outcome of a device: device i of entry e is number 2 * e + i. */
#define NONE 0
#define ACCEPTED 1
#define CANCELLED 2
#define UNKNOWN 3
byte outcome[2 * ENTRIES];

/* The orders in `appState`. */
#define RUNNING 0
#define PAUSED 1
#define RESUMED 2
#define STOPPED 3
byte orders = RUNNING;
bit confirmed = 0;

/* ---- Relays ------------------------------------------------------------------------------------------------------ */

/* A notification in a `HeldEntry`. */
#define FREE 0
#define RESOLVED 1
#define UNSENT 2
#define FLIGHT 3
#define DOUBT 4
#define RETRY 5
#define HAS_ACCEPTED 6
#define HAS_CANCELLED 7
#define HAS_UNKNOWN 8

/* A worker has a place for each entry, and another for the same entry held by its previous worker ID. */
#define PLACES (2 * ENTRIES)
#define OLD(e) ((e) + ENTRIES)
#define ENTRY(s) ((s) % ENTRIES)

typedef Relay {
  bit up;
  bit stopped;
  /* No queue call gets through. */
  bit cut;
  /* So for half a lease: it has returned what is unsent. */
  bit lapsed;
  /* It was suspended or cut off, and has not renewed its lease since. */
  bit away;
  /* The orders, as it read them last. */
  byte seen;
  /* It has checked its lease, and writes next. */
  bit ready;
  bit draining;
  /* The reply to a claim was lost (`doubtful`); the claim itself still arrives; the reply to a record was lost
     (`batch.retryAt`). */
  bit doubtful;
  bit underway;
  bit unrecorded;
  byte worker;
  byte turn;
  byte held[2 * PLACES];
  byte delivery[PLACES];
  /* The entry may have been sent by a worker that crashed. */
  bit again[PLACES];
  bit isCut[PLACES];
  bit parks[PLACES];
  /* For the properties: a suspended relay was about to write; how many notifications overtook. */
  bit late;
  byte passed;
  byte waited;
  bit excused[2 * PLACES];
  /* The session resent it: an earlier sending is in doubt. */
  bit doubted[2 * PLACES];
};
Relay relay[RELAYS];
#define R relay[_pid]

/* ---- APNs, and what the properties count ------------------------------------------------------------------------- */

/* Written to a connection. If that is lost before the response, APNs may have it or not: the properties hold for both. */
byte sent[2 * ENTRIES];
/* Written at most so often: once, and once more for each time that is explained. */
byte allowed[2 * ENTRIES] = 1;
/* Of these, APNs responded to so many with 429. */
byte refused[2 * ENTRIES];
/* APNs responded with 200. */
bit answered[2 * ENTRIES];

/* Scratch variables of single steps. */
hidden byte e, s, i, w, x, first, last;
hidden byte isOwn, isDone, isSettled, isRetry, isDoubt, isAll, found;

#define DEVICE(s, i) (2 * ENTRY(s) + (i))
#define HELD_AT(s, i) R.held[2 * (s) + (i)]
#define RUNS (R.up && !R.stopped)
#define REACHES (RUNS && !R.cut)
#define IS_KNOWN registered[R.worker]
#define CAN_CLAIM(e) (state[e] == WAITING && !parked[e])
#define IS_PARKED(e) (state[e] == WAITING && parked[e])
#if ENTRIES == 1
#define ANY(test) (test(0))
#define EACH(step) step(0)
#elif ENTRIES > 2
#define ANY(test) (test(0) || test(1) || test(2))
#define EACH(step) step(0) step(1) step(2)
#else
#define ANY(test) (test(0) || test(1))
#define EACH(step) step(0) step(1)
#endif
#define IS_USED(s) (HELD_AT(s, 0) != FREE)
#define HAS_TWICE(e) (IS_USED(e) && IS_USED(OLD(e)))
#define HAS_IN(s, what) (HELD_AT(s, 0) == what || HELD_AT(s, 1) == what)
#define CAN_WRITE(s) (HAS_IN(s, UNSENT) && !R.isCut[s])
#ifdef BUG_NOT_CUT
#define WRITES(e) (CAN_WRITE(e) || CAN_WRITE(OLD(e)))
#else
#define WRITES(e) CAN_WRITE(e)
#endif
#define HAS_FLIGHT(e) (HAS_IN(e, FLIGHT) || HAS_IN(OLD(e), FLIGHT))
#define IS_SETTLED(s) (IS_USED(s) && !HAS_IN(s, FLIGHT) && (!HAS_IN(s, UNSENT) || R.isCut[s]))
#define HAS_FRESH(s) (HAS_IN(s, HAS_ACCEPTED) || HAS_IN(s, HAS_CANCELLED) || HAS_IN(s, HAS_UNKNOWN))
#define RECORDS(e) (IS_SETTLED(e) || HAS_FRESH(e) || IS_SETTLED(OLD(e)) || HAS_FRESH(OLD(e)))

/* A notification that was written may be written again: its connection ended, APNs asked for it, or its relay did not
   record its response. Each writing explains one more. */
inline excuse(relay_, place) {
  if
  :: !relay[relay_].excused[place] ->
    relay[relay_].excused[place] = 1;
    allowed[2 * ENTRY((place) / 2) + (place) % 2]++
  :: else
  fi
}

inline excuseAll(relay_) {
  x = 0;
  do
  :: x < 2 * PLACES ->
    if
    :: relay[relay_].held[x] == FLIGHT || relay[relay_].held[x] == HAS_ACCEPTED -> excuse(relay_, x)
    :: else
    fi;
    x++
  :: else -> break
  od
}

inline clear(s) {
  HELD_AT(s, 0) = FREE;
  HELD_AT(s, 1) = FREE;
  R.excused[2 * (s)] = 0;
  R.excused[2 * (s) + 1] = 0;
  R.doubted[2 * (s)] = 0;
  R.doubted[2 * (s) + 1] = 0;
  R.delivery[s] = 0;
  R.again[s] = 0;
  R.isCut[s] = 0;
  R.parks[s] = 0
}

/* What the worker has of an entry is then of its previous worker ID, or of an earlier delivery. */
inline age(s) {
  HELD_AT(OLD(s), 0) = HELD_AT(s, 0);
  HELD_AT(OLD(s), 1) = HELD_AT(s, 1);
  R.excused[2 * OLD(s)] = R.excused[2 * (s)];
  R.excused[2 * OLD(s) + 1] = R.excused[2 * (s) + 1];
  R.doubted[2 * OLD(s)] = R.doubted[2 * (s)];
  R.doubted[2 * OLD(s) + 1] = R.doubted[2 * (s) + 1];
  R.delivery[OLD(s)] = R.delivery[s];
  R.again[OLD(s)] = R.again[s];
  R.isCut[OLD(s)] = R.isCut[s];
  R.parks[OLD(s)] = R.parks[s];
  clear(s)
}

inline clearAll() {
  s = 0;
  do
  :: s < PLACES ->
    clear(s);
    s++
  :: else -> break
  od;
  R.stopped = 0;
  R.cut = 0;
  R.lapsed = 0;
  R.away = 0;
  R.ready = 0;
  R.late = 0;
  R.draining = 0;
  R.doubtful = 0;
  R.underway = 0;
  R.unrecorded = 0;
  R.turn = 0;
  R.passed = 0;
  R.waited = 0;
  R.seen = RUNNING
}

/* ---- Calls of the queue: SQLite/SQLiteQueue.swift, Redis/RedisScripts.swift --------------------------------------- */

inline join() {
  workers++;
  registered[workers] = 1;
  process[workers] = _pid;
  R.worker = workers
}

/* SQLite/SQLiteQueue.swift release(), Redis/RedisScripts.swift release(): what a worker that is gone held. */
inline release(worker_) {
  e = 0;
  do
  :: e < ENTRIES ->
    if
    :: state[e] == HELD && holder[e] == worker_ ->
      state[e] = WAITING;
      holder[e] = 0;
#ifdef BUG_CRASH_NOT_COUNTED
      deliveries[e]--
#endif
    :: else
    fi;
    e++
  :: else -> break
  od;
  registered[worker_] = 0
}

#define IS_DEAD(w) (!relay[process[w]].up || relay[process[w]].worker != w)
#define IS_SILENT(w) (relay[process[w]].stopped || (relay[process[w]].cut && relay[process[w]].lapsed))
#ifdef BUG_RECLAIMS_LIVE
#define MAY_RECLAIM(w) (registered[w] && process[w] != _pid)
#else
#define MAY_RECLAIM(w) (registered[w] && process[w] != _pid && !IS_DEAD(w) && IS_SILENT(w))
#endif

/* SQLite/SQLiteQueue.swift reclaim(), Redis/RedisQueue.swift reclaim(): workers whose process is dead, or silent ones. */
inline reclaim(isDead) {
  w = 1;
  do
  :: w < WORKERS ->
    if
    :: isDead && registered[w] && IS_DEAD(w) -> release(w)
    :: !isDead && MAY_RECLAIM(w) ->
#ifdef BUG_RECLAIMS_LIVE
      if :: IS_SILENT(w) -> excuseAll(process[w]) :: else fi;
#else
      excuseAll(process[w]);
#endif
      release(w)
    :: else
    fi;
    w++
  :: else -> break
  od
}

/* Worker/HeldEntries.swift giveBackUnsent(), and cancelAll() of its session. */
inline cutUnsent(isExpired) {
  s = 0;
  do
  :: s < ENTRIES ->
    if
    :: IS_USED(s) ->
#ifndef BUG_NOT_CUT
      R.isCut[s] = 1;
#endif
      if :: isExpired -> age(s) :: else fi
    :: else
    fi;
    s++
  :: else -> break
  od
}

/* The orders, as the worker knows them, for an entry that it holds. */
inline obey(s) {
  if
  :: R.seen == STOPPED && OF_CAMPAIGN(ENTRY(s)) && CAN_WRITE(s) ->
    i = 0;
    do
    :: i < 2 ->
      if
      :: HELD_AT(s, i) == UNSENT ->
#ifdef BUG_CRASH_CANCELLED
        HELD_AT(s, i) = HAS_CANCELLED
#else
        HELD_AT(s, i) = (R.again[s] -> HAS_UNKNOWN : HAS_CANCELLED)
#endif
      :: else
      fi;
      i++
    :: else -> break
    od
  :: R.seen == PAUSED && OF_CAMPAIGN(ENTRY(s)) && CAN_WRITE(s) ->
    R.isCut[s] = 1;
    R.parks[s] = 1
  :: else
  fi
}

/* `appState`, in Queue/AppStateStore.swift: the worker reads the orders, and carries them out. Each claim of a campaign's
   entries does so first. */
inline readOrders() {
  R.seen = orders;
  s = 0;
  do
  :: s < ENTRIES ->
    obey(s);
    s++
  :: else -> break
  od
}

/* Worker/WorkerLease.swift, Worker/WorkerMembership.swift renewIfDue(), then EntryRestrictions.swift followOrdersIfDue() */
inline renew() {
  if
  :: IS_KNOWN -> skip
  :: else ->
    cutUnsent(1);
    R.doubtful = 0;
    R.underway = 0;
    R.unrecorded = 0;
    join()
  fi;
  readOrders();
  R.lapsed = 0;
  R.away = 0
}

/* Worker/WorkerOrders.swift advance(): what waits though the orders do not pause it any more. A worker looks again and
   again, because another one may return an entry by older orders, and end. */
inline advance() {
  e = 0;
  do
  :: e < ENTRIES ->
    parked[e] = 0;
    e++
  :: else -> break
  od
}

/* Worker/EntryClaims.swift take() */
inline take(s) {
  i = 0;
  do
  :: i < DEVICES(s) ->
    HELD_AT(s, i) = (outcome[2 * (s) + i] == NONE -> UNSENT : RESOLVED);
    i++
  :: else -> break
  od;
  R.delivery[s] = deliveries[s];
  R.again[s] = (deliveries[s] - deferrals[s] > 1);
#ifndef BUG_CLAIMED_NOT_CANCELLED
  obey(s)
#endif
}

inline claimOne(e_, isLost) {
  state[e_] = HELD;
  holder[e_] = R.worker;
  deliveries[e_]++;
#ifdef BUG_ACKNOWLEDGED_BY_CLAIM
  state[e_] = FINISHED;
#endif
  if
  :: isLost -> skip
  :: else ->
    /* The old holding is in the batch, and its record is repeated. */
    if
    :: IS_USED(e_) ->
      age(e_)
    :: else
    fi;
    take(e_)
  fi
}

/* SQLite/SQLiteQueue.swift claim(), Redis/RedisClaimScript.swift: urgent entries first. If the reply is lost, the worker
   does not know what it has. */
inline claim(isAll_, isLost) {
#ifndef BUG_CLAIMED_BY_OLD_ORDERS
  if
  :: isLost == 0 -> readOrders()
  :: else
  fi;
#endif
  isAll = isAll_;
  found = 0;
  first = 0;
  do
  :: first < 2 ->
    last = 0;
    do
    :: last < ENTRIES ->
      if
      :: IS_URGENT(last) != first && CAN_CLAIM(last) && (isAll || !found) ->
        claimOne(last, isLost);
        found = 1
      :: else
      fi;
      last++
    :: else -> break
    od;
    first++
  :: else -> break
  od;
  if
  :: isLost == 0 -> skip
  :: isLost == 1 -> R.doubtful = 1
  :: isLost == 2 -> R.underway = 0
  fi
}

/* Redis/RedisScripts.swift reconcile(): entries that the worker was given and never received. */
inline reconcile() {
  e = 0;
  do
  :: e < ENTRIES ->
    if
#ifdef BUG_RECONCILES_ALL
    :: state[e] == HELD && holder[e] == R.worker ->
#else
    :: state[e] == HELD && holder[e] == R.worker && !IS_USED(e) ->
#endif
      state[e] = WAITING;
      holder[e] = 0;
      deliveries[e]--
    :: else
    fi;
    e++
  :: else -> break
  od;
#ifndef BUG_LATE_CLAIM
  /* Claims from before are void. */
  R.underway = 0;
#endif
  R.doubtful = 0
}

inline addOutcome(device, kind) {
  if
#ifdef BUG_OUTCOME_TWICE
  :: true ->
#else
  :: outcome[device] == NONE ->
#endif
    /* No outcome twice. */
    assert(outcome[device] == NONE);
    /* Accepted implies that APNs has it. */
    assert(kind != ACCEPTED || answered[device]);
    /* Cancelled implies that APNs does not have it: it was never written, or each writing got a 429. */
    assert(kind != CANCELLED || sent[device] == refused[device]);
    outcome[device] = kind
  :: else
  fi
}

/* SQLite/SQLiteQueue.swift recordTogether(), Redis/RedisRecordScript.swift, and Worker/HeldEntry.swift settle(). Outcomes
   from a response count, whoever holds the entry now; those by an order count only while the worker holds it. */
inline recordOne() {
  e = ENTRY(s);
  isOwn = (state[e] == HELD && holder[e] == R.worker);
#ifndef BUG_OLD_HOLDING_OWNS
  /* It may have claimed the same entry again. */
  isOwn = isOwn && deliveries[e] == R.delivery[s];
#endif
#ifdef BUG_OWNER_UNCHECKED
  isOwn = (state[e] == HELD);
#endif
  isSettled = IS_SETTLED(s);
  isDone = isSettled;
  isRetry = 0;
  isDoubt = 0;
  i = 0;
  do
  :: i < DEVICES(e) ->
    if
    :: HELD_AT(s, i) == HAS_ACCEPTED ->
      addOutcome(DEVICE(s, i), ACCEPTED);
      HELD_AT(s, i) = RESOLVED
    :: HELD_AT(s, i) == HAS_CANCELLED || HELD_AT(s, i) == HAS_UNKNOWN ->
#ifdef BUG_CANCELLED_BY_ANYONE
      isOwn = 1;
#endif
      if
      :: isOwn ->
        addOutcome(DEVICE(s, i), (HELD_AT(s, i) == HAS_CANCELLED -> CANCELLED : UNKNOWN));
        HELD_AT(s, i) = RESOLVED
#ifdef BUG_DROPPED_IS_DONE
      :: else ->
        HELD_AT(s, i) = RESOLVED;
        isDone = 0
#else
      /* It stays without an outcome, so that a later record does not finish the entry. */
      :: else ->
        HELD_AT(s, i) = UNSENT;
        R.isCut[s] = 1;
        isDone = 0
#endif
      fi
    :: HELD_AT(s, i) == RETRY ->
      isRetry = 1;
      isDone = 0
    :: HELD_AT(s, i) == DOUBT ->
      isDoubt = 1;
      isDone = 0
    :: HELD_AT(s, i) == UNSENT || HELD_AT(s, i) == FLIGHT -> isDone = 0
    :: else
    fi;
    i++
  :: else -> break
  od;
  if
  :: isDone ->
    state[e] = FINISHED;
    holder[e] = 0
  :: isSettled && !isDone && isOwn ->
    state[e] = WAITING;
    holder[e] = 0;
    if
#ifdef OPEN_DOUBT_COUNTS_AS_DEFERRAL
    :: isRetry -> deferrals[e]++
    :: isDoubt && !isRetry -> skip
#else
    :: isDoubt -> skip
    :: isRetry && !isDoubt -> deferrals[e]++
#endif
    :: else ->
      deliveries[e]--;
      parked[e] = R.parks[s]
    fi
  :: else
  fi
}

/* Worker/OutcomeRecorder.swift recordIfDue(). If the reply is lost, the same is recorded again. */
inline record(isLost) {
  s = 0;
  do
  :: s < PLACES ->
    if
    :: IS_SETTLED(s) || HAS_FRESH(s) ->
      first = HELD_AT(s, 0);
      last = HELD_AT(s, 1);
      recordOne();
      if
      :: isLost ->
        HELD_AT(s, 0) = first;
        HELD_AT(s, 1) = last
      :: !isLost && isSettled -> clear(s)
      :: else
      fi
    :: else
    fi;
    s++
  :: else -> break
  od;
  R.unrecorded = isLost
}

/* SQLite/SQLiteAdding.swift, Redis/RedisScripts.swift enqueue(): a known ID adds nothing. */
inline enqueue(e_) {
  if
#ifdef BUG_ENQUEUED_AGAIN
  :: true ->
#else
  :: state[e_] == NEW ->
#endif
    state[e_] = WAITING;
    deliveries[e_] = 0;
    deferrals[e_] = 0
  :: else
  fi
}

/* SQLite/SQLiteQueue.swift, Redis/RedisQueue.swift leave(): what it still holds returns to the queue. */
inline leave() {
#ifdef BUG_LEFT_WITHOUT_RELEASE
  registered[R.worker] = 0;
#else
  excuseAll(_pid);
  release(R.worker);
#endif
  clearAll();
  R.up = 0
}

/* ---- APNs: Worker/ServiceSession.swift --------------------------------------------------------------------------- */

inline written(device) {
  sent[device]++;
  /* At most the resends that the guarantees allow. */
  assert(sent[device] <= allowed[device]);
  /* Never after it was cancelled. */
  assert(outcome[device] != CANCELLED);
  /* Nothing of the campaign after the confirmation, except by a relay that is cut off, or was suspended within this
     step. */
#ifdef OPEN_WRITTEN_AFTER_CONFIRMATION
  assert(!confirmed || !OF_CAMPAIGN((device) / 2))
#else
  assert(!confirmed || !OF_CAMPAIGN((device) / 2) || R.cut || R.away || R.late)
#endif
}

/* A suspended relay that goes on within a write does not know yet that others have the entry. */
inline explainLate() {
  if
  :: state[ENTRY(s)] != HELD || holder[ENTRY(s)] != R.worker -> allowed[DEVICE(s, i)]++
  :: else
  fi
}

/* Worker/EntryPusher.swift send(), with Worker/UnsentEntries.swift next: one notification. */
inline send() {
  first = PLACES;
  last = PLACES;
  s = PLACES;
  do
  :: s > 0 ->
    s--;
    if
#ifndef BUG_NOT_CUT
    :: s >= ENTRIES -> skip
    :: s < ENTRIES && CAN_WRITE(s) && IS_URGENT(ENTRY(s)) -> first = s
    :: s < ENTRIES && CAN_WRITE(s) && !IS_URGENT(ENTRY(s)) -> last = s
#else
    :: CAN_WRITE(s) && IS_URGENT(ENTRY(s)) -> first = s
    :: CAN_WRITE(s) && !IS_URGENT(ENTRY(s)) -> last = s
#endif
    :: else
    fi
  :: else -> break
  od;
  if
#if defined(BUG_BULK_OVERTAKES)
  :: last < PLACES -> s = last
  :: last == PLACES -> s = first
#elif defined(BUG_BULK_STARVES)
  :: first < PLACES -> s = first
  :: first == PLACES -> s = last
#else
  :: first < PLACES && (last == PLACES || R.turn < SHARE - 1) -> s = first
  :: else -> s = (last < PLACES -> last : first)
#endif
  fi;
#ifdef LANES
  /* In each round a bulk notification overtakes an urgent one once, and never waits for more than the rest of it. */
  if
  :: first < PLACES && last < PLACES ->
    R.passed = (s == last -> R.passed + 1 : 0);
    R.waited = (s == first -> R.waited + 1 : 0);
    assert(R.passed <= 1 && R.waited <= SHARE - 1)
  :: else ->
    R.passed = 0;
    R.waited = 0
  fi;
  R.turn = (R.turn + 1) % SHARE;
#endif
  i = (HELD_AT(s, 0) == UNSENT -> 0 : 1);
  if :: R.late -> explainLate() :: else fi;
  HELD_AT(s, i) = FLIGHT;
  R.excused[2 * s + i] = 0;
  written(DEVICE(s, i));
  R.late = 0;
  R.ready = 0;
  first = 0;
  last = 0
}

/* The connection is lost. The session resends what was in flight, or reports it as unknown. */
inline lose(isResent) {
  s = 0;
  do
  :: s < PLACES ->
    i = 0;
    do
    :: i < 2 ->
      if
      :: HELD_AT(s, i) == FLIGHT ->
        excuse(_pid, 2 * s + i);
        if
        :: isResent && s < ENTRIES && !R.draining && !R.lapsed ->
          R.excused[2 * s + i] = 0;
          R.doubted[2 * s + i] = 1;
          explainLate();
          written(DEVICE(s, i))
#ifdef BUG_SILENCE_IS_ACCEPTED
        :: else -> HELD_AT(s, i) = HAS_ACCEPTED
#else
        :: else -> HELD_AT(s, i) = DOUBT
#endif
        fi
      :: else
      fi;
      i++
    :: else -> break
    od;
    s++
  :: else -> break
  od
}

/* Worker/HeldEntry.swift take(): a response. */
#ifdef OPEN_DOUBT_COUNTS_AS_DEFERRAL
#define STAYS_IN_DOUBT false
#else
#define STAYS_IN_DOUBT true
#endif
#define ANSWER(s, i) \
  :: d_step { RUNS && HELD_AT(s, i) == FLIGHT -> answered[DEVICE(s, i)] = 1; HELD_AT(s, i) = HAS_ACCEPTED } \
  :: d_step { RUNS && retries > 0 && HELD_AT(s, i) == FLIGHT -> \
      retries--; refused[DEVICE(s, i)]++; excuse(_pid, 2 * (s) + (i)); \
      HELD_AT(s, i) = (R.doubted[2 * (s) + (i)] && STAYS_IN_DOUBT -> DOUBT : RETRY); x = 0 }
#if BULK_DEVICES > 1 || URGENT_DEVICES > 1
#define ANSWERS(e) ANSWER(e, 0) ANSWER(e, 1) ANSWER(OLD(e), 0) ANSWER(OLD(e), 1)
#else
#define ANSWERS(e) ANSWER(e, 0) ANSWER(OLD(e), 0)
#endif

#ifdef BUG_CONFIRMED_WHILE_HELD
#define IS_LEFT(e) (OF_CAMPAIGN(e) && state[e] == WAITING)
#else
#define IS_LEFT(e) (OF_CAMPAIGN(e) && (state[e] == WAITING || state[e] == HELD))
#endif

#define SEES(r_) (!relay[r_].up || IS_AWAY(r_) || relay[r_].seen == STOPPED)
#define IS_AWAY(r_) (relay[r_].stopped || relay[r_].cut || relay[r_].away)
#ifdef BUG_CONFIRMED_UNREAD
#define IS_READ true
#else
#define IS_READ (SEES(0) && SEES(1))
#endif

/* ---- Processes --------------------------------------------------------------------------------------------------- */

/* A loop must not be the last statement of a d_step. */
#define STEP(test, act) :: d_step { test -> act; x = 0 }

#define DEAD_WORKER(w) (registered[w] && IS_DEAD(w))
#define SILENT_WORKER(w) MAY_RECLAIM(w)
#define ANY_WORKER(test) (test(1) || test(2) || test(3) || test(4) || test(5))

#ifdef BUG_NOT_RECONCILED
#define IS_DOUBTFUL false
#else
#define IS_DOUBTFUL R.doubtful
#endif
#ifdef BUG_UNREGISTERED_CLAIMS
#define IS_ADMITTED true
#else
#define IS_ADMITTED IS_KNOWN
#endif
#ifdef BUG_CLAIMS_BEFORE_RECORDING
#define HAS_RECORDED true
#else
#define HAS_RECORDED !R.unrecorded
#endif
/* `finishesUntil`: time enough to record what has its response. */
#ifdef BUG_CLAIMS_AT_ONCE
#define FINISHES(e) false
#else
#define FINISHES(e) (IS_SETTLED(OLD(e)) || HAS_FRESH(OLD(e)))
#endif
#define IS_FREE_TO_CLAIM (!R.lapsed && !R.draining && !IS_DOUBTFUL && HAS_RECORDED && !ANY(FINISHES))
#define CLAIMS (REACHES && IS_FREE_TO_CLAIM && IS_ADMITTED && ANY(CAN_CLAIM))
#ifdef BUG_WRITES_ON
#define HAS_LEASE true
#else
#define HAS_LEASE !R.away
#endif

active [RELAYS] proctype work() {
end:
  do
  STEP(!R.up, R.up = 1; join())
  /* Faults. */
  STEP(R.up && kills > 0, kills--; excuseAll(_pid); clearAll(); R.up = 0)
  STEP(RUNS && stops > 0, stops--; R.stopped = 1)
  STEP(R.stopped, R.stopped = 0; R.away = 1; R.late = R.ready)
  STEP(RUNS && cuts > 0 && !R.cut, cuts--; R.cut = 1)
  STEP(RUNS && R.cut, R.cut = 0; R.away = 1)
#ifdef BUG_CUT_OFF_WRITES
  STEP(RUNS && R.cut && !R.lapsed, R.lapsed = 1)
#else
  STEP(RUNS && R.cut && !R.lapsed, R.lapsed = 1; cutUnsent(0))
#endif
  STEP(RUNS && lines > 0 && ANY(HAS_FLIGHT), lines--; lose(0))
  STEP(RUNS && lines > 0 && ANY(HAS_FLIGHT), lines--; lose(1))
  /* WorkerMembership.renewIfDue() */
  STEP(REACHES && R.away && !ANY(HAS_TWICE), renew())
  STEP(REACHES && ANY_WORKER(DEAD_WORKER), reclaim(1))
  STEP(REACHES && ANY_WORKER(SILENT_WORKER), reclaim(0))
  STEP(REACHES && R.seen != orders, readOrders())
#ifndef BUG_NOT_ADVANCED
  STEP(REACHES && R.seen != PAUSED && ANY(IS_PARKED), advance())
#endif
  /* EntryClaims.claim() */
  STEP(CLAIMS, claim(1, 0))
  STEP(CLAIMS, claim(0, 0))
  STEP(CLAIMS && replies > 0, replies--; claim(1, 1))
  STEP(CLAIMS && replies > 0 && !R.underway, replies--; R.doubtful = 1; R.underway = 1)
  STEP(R.underway && IS_ADMITTED && ANY(CAN_CLAIM), claim(1, 2))
  STEP(REACHES && IS_DOUBTFUL && IS_KNOWN, reconcile())
  /* WorkerLoop.run() checks the lease once more, and sends. */
  STEP(RUNS && !R.ready && HAS_LEASE && ANY(WRITES), R.ready = 1)
  STEP(RUNS && R.ready && ANY(WRITES), send())
  STEP(RUNS && R.ready && !ANY(WRITES), R.ready = 0; R.late = 0)
  EACH(ANSWERS)
  STEP(REACHES && ANY(RECORDS), record(0))
  STEP(REACHES && ANY(RECORDS) && replies > 0, replies--; record(1))
  /* AppWorker.drain(), WorkerLoop.end(): SIGTERM. */
  STEP(RUNS && ends > 0 && !R.draining, ends--; R.draining = 1; cutUnsent(0))
  STEP(RUNS && R.draining && ANY(HAS_FLIGHT), lose(0))
  STEP(REACHES && R.draining && !ANY(HAS_FLIGHT), leave())
  od
}

#define ENQUEUE(e_) \
  STEP(state[e_] == NEW, enqueue(e_)) \
  STEP(state[e_] != NEW && repeats > 0, repeats--; enqueue(e_))

active proctype producer() {
end:
  do
  EACH(ENQUEUE)
  od
}

#ifdef HAS_ORDERS
active proctype operator() {
#ifdef PAUSES
  orders = PAUSED;
  if
  :: orders = RESUMED
#ifdef CANCELS
  :: orders = STOPPED
#endif
  fi;
#else
  orders = STOPPED;
#endif
  if
  :: orders == STOPPED ->
    /* The confirmation: nothing is left, and each relay that is not suspended or cut off has had the time to read. */
    d_step { !ANY(IS_LEFT) && IS_READ -> confirmed = 1 }
  :: else
  fi
}
#endif

#define IS_OPEN(e) (state[e] != FINISHED || outcome[2 * (e)] == NONE \
  || (DEVICES(e) > 1 && outcome[2 * (e) + 1] == NONE))

init {
  /* Nothing is lost: when no relay has anything to do, each notification has its outcome. */
  timeout ->
    assert(!ANY(IS_OPEN));
#ifdef CANCELS
    assert(confirmed || orders == RESUMED)
#endif
}
