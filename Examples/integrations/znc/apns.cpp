/*
 * A global module for ZNC: highlights and private messages of an absent user go to the user's
 * devices, through APNs. README.md describes its arguments and commands.
 *
 *   CXXFLAGS="$(pkg-config --cflags apns)" LIBS="$(pkg-config --libs apns)" znc-buildmod apns.cpp
 *
 * One session serves all users, on ZNC's one thread. A timer drives it while pushes wait. It is no
 * socket of ZNC's, because ZNC 1.8 may use a module's socket once more after it has unloaded the
 * module.
 */
#include <znc/Chan.h>
#include <znc/IRCNetwork.h>
#include <znc/User.h>
#include <znc/znc.h>

#include <apns/apns.hpp>

class CApnsMod : public CModule {
  static const unsigned int DEVICES_PER_USER = 20;
  static const unsigned int MESSAGES_PER_MINUTE = 30;
  static const size_t TITLE_LENGTH = 200;
  static constexpr double INTERVAL = 0.1; /* in seconds; ZNC's loop has no shorter one */

 public:
  MODCONSTRUCTOR(CApnsMod) {
    AddHelpCommand();
    AddCommand("AddDevice", t_d("<token>"), t_d("Adds a device by its token in hex"),
               [=](const CString& sLine) { AddDeviceCommand(sLine); });
    AddCommand("DelDevice", t_d("<token>"), t_d("Removes a device"),
               [=](const CString& sLine) { DelDeviceCommand(sLine); });
    AddCommand("ListDevices", "", t_d("Lists your devices and the last outcome of each"),
               [=](const CString&) { ListDevicesCommand(); });
    AddCommand("Test", "", t_d("Pushes a message to your devices"),
               [=](const CString&) { TestCommand(); });
    AddCommand("Status", "", t_d("Shows counts of all users, and the last failure"),
               [=](const CString&) { StatusCommand(); });
  }

  /* Does not wait: pushes that were written may still arrive, and the others are lost. */
  ~CApnsMod() override {
    if (!m_pSession) return;
    const size_t uLost = m_pSession->stats().unresolved;
    m_pSession->try_close(std::chrono::milliseconds(0));
    TakeOutcomes();
    if (uLost > 0) CUtils::PrintError("apns: " + CString(uLost) + " pushes have no outcome");
  }

  bool OnLoad(const CString& sArgs, CString& sMessage) override {
    apns::CredentialsOptions Who;
    VCString vsArgs;
    sArgs.Split(" ", vsArgs, false);
    for (const CString& sArg : vsArgs) {
      const CString sName = sArg.Token(0, false, "="), sValue = sArg.Token(1, true, "=");
      if (sName == "key_file") {
        Who.token_key_file = sValue;
      } else if (sName == "key_id") {
        Who.key_id = sValue;
      } else if (sName == "team_id") {
        Who.team_id = sValue;
      } else if (sName == "certificate_file") {
        Who.certificate_file = sValue;
      } else if (sName == "ca_file") {
        Who.ca_file = sValue;
      } else if (sName == "topic") {
        m_Options.topic = sValue;
      } else if (sName == "host") {
        m_Options.peer.host = sValue;
      } else if (sName == "port" && sValue == CString(sValue.ToUShort())) {
        m_Options.peer.port = sValue.ToUShort();
      } else if (sArg == "environment=sandbox") {
        m_Options.environment = APNS_ENVIRONMENT_SANDBOX;
      } else if (sArg != "environment=production") {
        sMessage = t_f("Unknown or wrong argument: {1}")(sName);
        return false;
      }
    }
    if (Who.token_key_file.empty() ? Who.certificate_file.empty() : m_Options.topic.empty()) {
      sMessage = t_s("key_file and topic, or certificate_file, are missing");
      return false;
    }
    m_Options.peer.nonblocking = true;
    m_Options.close_timeout_ms = 0;
    m_Options.outcomes = APNS_OUTCOMES_EACH;
    m_Options.user_data_free = [](void* pKey) { delete static_cast<CString*>(pKey); };
    try {
      m_pCredentials.reset(new apns::Credentials(Who));
      apns::Session(*m_pCredentials, m_Options); /* finds a mistake in the options */
    } catch (const apns::Error& Error) {
      sMessage = Error.what();
      return false;
    }
    return true;
  }

  EModRet OnPrivTextMessage(CTextMessage& Message) override {
    return OnMessage(Message.GetNick(), nullptr, Message.GetText());
  }
  EModRet OnPrivActionMessage(CActionMessage& Message) override {
    return OnMessage(Message.GetNick(), nullptr, "* " + Message.GetText());
  }
  EModRet OnChanTextMessage(CTextMessage& Message) override {
    return OnMessage(Message.GetNick(), Message.GetChan(), Message.GetText());
  }
  EModRet OnChanActionMessage(CActionMessage& Message) override {
    return OnMessage(Message.GetNick(), Message.GetChan(), "* " + Message.GetText());
  }

  EModRet OnDeleteUser(CUser& User) override {
    for (const CString& sToken : Devices(User)) {
      m_msOutcomes.erase(Key(User, sToken));
      DelNV(Key(User, sToken));
    }
    m_mMinutes.erase(User.GetUsername());
    return CONTINUE;
  }

 private:
  struct SMinute {
    time_t tBegin;
    unsigned int uCount;
  };

  apns::SessionOptions m_Options;
  std::unique_ptr<apns::Credentials> m_pCredentials;
  std::unique_ptr<apns::Session> m_pSession;
  CString m_sLastFailure;
  std::map<CString, CString> m_msOutcomes; /* the last one of each device, by its key */
  std::map<CString, SMinute> m_mMinutes;   /* by user */

  /* A device's value is the time of its registration, or why it gets no more pushes. */
  static CString Key(const CUser& User, const CString& sToken) {
    return User.GetUsername() + " " + sToken;
  }

  VCString Devices(const CUser& User) {
    VCString vsTokens;
    for (MCString::iterator it = BeginNV(); it != EndNV(); ++it)
      if (it->first.Token(0) == User.GetUsername()) vsTokens.push_back(it->first.Token(1));
    return vsTokens;
  }

  static bool IsActive(const CString& sValue) {
    return !sValue.empty() && sValue.find_first_not_of("0123456789") == CString::npos;
  }

  /* ---- Commands ---- */

  /* The token as libapns writes it, or "" after an answer to the user. */
  CString ReadToken(const CString& sLine) {
    apns::Token Token;
    apns_error_t Error = APNS_ERROR_INIT;
    const CString sText = sLine.Token(1, true);
    if (Token.try_assign_hex(sText, &Error) == APNS_OK) return Token.hex();
    PutModule(t_f("Not a device token: {1}")(CString(Error.message)));
    return "";
  }

  void AddDeviceCommand(const CString& sLine) {
    const CString sToken = ReadToken(sLine);
    if (sToken.empty()) return;
    const CString sKey = Key(*GetUser(), sToken);
    if (FindNV(sKey) == EndNV() && Devices(*GetUser()).size() >= DEVICES_PER_USER) {
      PutModule(t_f("You have {1} devices, which is the most.")(CString(DEVICES_PER_USER)));
      return;
    }
    SetNV(sKey, CString(time(nullptr)));
    m_msOutcomes.erase(sKey);
    PutModule(t_s("Added."));
  }

  void DelDeviceCommand(const CString& sLine) {
    const CString sToken = ReadToken(sLine);
    if (sToken.empty()) return;
    m_msOutcomes.erase(Key(*GetUser(), sToken));
    PutModule(DelNV(Key(*GetUser(), sToken)) ? t_s("Removed.")
                                             : t_s("You have no device with this token."));
  }

  void ListDevicesCommand() {
    CTable Table;
    Table.AddColumn(t_s("Device"));
    Table.AddColumn(t_s("Last outcome"));
    Table.SetStyle(CTable::ListStyle);
    for (const CString& sToken : Devices(*GetUser())) {
      const CString sValue = GetNV(Key(*GetUser(), sToken));
      Table.AddRow();
      Table.SetCell(t_s("Device"), sToken);
      Table.SetCell(t_s("Last outcome"), IsActive(sValue) ? m_msOutcomes[Key(*GetUser(), sToken)]
                                                          : t_f("no more pushes: {1}")(sValue));
    }
    if (Table.empty())
      PutModule(t_s("You have no devices."));
    else
      PutModule(Table);
  }

  void TestCommand() {
    PutModule(t_f("Pushed to {1} devices.")(
        Push("ZNC", "test", GetUser()->GetUsername(), t_s("This is a test."))));
  }

  void StatusCommand() {
    apns_session_stats_t Stats = APNS_SESSION_STATS_INIT;
    if (m_pSession) Stats = m_pSession->stats();
    PutModule(t_f("{1} accepted, {2} rejected, {3} without an outcome yet.")(
        CString(Stats.accepted), CString(Stats.rejected), CString(Stats.unresolved)));
    if (!m_sLastFailure.empty()) PutModule(t_f("Last failure: {1}")(m_sLastFailure));
  }

  /* ---- Messages ---- */

  static bool IsOfNick(char c) { return isalnum((unsigned char)c) || strchr("[]\\`_^{|}-", c); }

  /* Whether the nick stands in the text as a word. */
  static bool IsHighlight(const CString& sText, const CString& sNick) {
    const CString sIn = sText.AsLower(), sWord = sNick.AsLower();
    if (sWord.empty()) return false;
    for (size_t uAt = sIn.find(sWord); uAt != CString::npos; uAt = sIn.find(sWord, uAt + 1)) {
      const size_t uEnd = uAt + sWord.length();
      if ((uAt == 0 || !IsOfNick(sIn[uAt - 1])) && (uEnd == sIn.length() || !IsOfNick(sIn[uEnd])))
        return true;
    }
    return false;
  }

  EModRet OnMessage(const CNick& Nick, const CChan* pChan, const CString& sText) {
    const CIRCNetwork* pNetwork = GetNetwork();
    const CString sClean = sText.StripControls_n();
    if (!GetUser() || !pNetwork || (pNetwork->IsUserAttached() && !pNetwork->IsIRCAway()))
      return CONTINUE;
    if (Nick.NickEquals(pNetwork->GetCurNick())) return CONTINUE;
    if (pChan && !IsHighlight(sClean, pNetwork->GetCurNick())) return CONTINUE;

    const CString sWhere = pChan ? pChan->GetName() : Nick.GetNick();
    SMinute& Minute = m_mMinutes[GetUser()->GetUsername()];
    const time_t tNow = time(nullptr);
    if (tNow - Minute.tBegin >= 60 || tNow < Minute.tBegin) Minute = {tNow, 0};
    if (++Minute.uCount == MESSAGES_PER_MINUTE + 1)
      Push("ZNC", "limit", "ZNC", t_s("More messages of this minute are not pushed."));
    if (Minute.uCount <= MESSAGES_PER_MINUTE)
      Push(pChan ? CString(Nick.GetNick() + " in " + sWhere) : sWhere,
           pNetwork->GetName() + "/" + sWhere, Nick.GetNick(), sClean);
    return CONTINUE;
  }

  /* JSON is UTF-8, and IRC may be anything. */
  static CString AsciiOf(CString sText) {
    for (char& c : sText)
      if (c & 0x80) c = '?';
    return sText;
  }

  apns::Payload PayloadOf(const CString& sTitle, const CString& sThread, const CString& sSender,
                          const CString& sText) {
    apns::PayloadOptions Options;
    Options.truncate = true;
    apns::Payload Payload(Options);
    Payload.title(sTitle).body(sText).sound("default").thread_id(sThread).add("sender", sSender);
    return Payload;
  }

  /* Pushes to all devices of the user, and returns to how many. */
  unsigned int Push(const CString& sTitle, const CString& sThread, const CString& sSender,
                    const CString& sText) {
    const CString sCut = sTitle.Left(TITLE_LENGTH), sThreadCut = sThread.Left(TITLE_LENGTH),
                  sSenderCut = sSender.Left(TITLE_LENGTH);
    unsigned int uCount = 0;
    const VCString vsTokens = Devices(*GetUser());
    if (vsTokens.empty()) return 0;
    try {
      apns::Payload Payload(nullptr);
      try {
        Payload = PayloadOf(sCut, sThreadCut, sSenderCut, sText);
      } catch (const apns::Error&) {
        Payload =
            PayloadOf(AsciiOf(sCut), AsciiOf(sThreadCut), AsciiOf(sSenderCut), AsciiOf(sText));
      }
      /* ZNC forks after it has loaded its modules, so the session begins with the first push. */
      if (!m_pSession) m_pSession.reset(new apns::Session(*m_pCredentials, m_Options));
      for (const CString& sToken : vsTokens)
        if (IsActive(GetNV(Key(*GetUser(), sToken)))) uCount += PushTo(sToken, Payload);
      Process();
    } catch (const std::exception& Error) {
      m_sLastFailure = Error.what();
      PutModule(t_f("Not pushed: {1}")(m_sLastFailure));
    }
    return uCount;
  }

  bool PushTo(const CString& sToken, const apns::Payload& Payload) {
    const CString sKey = Key(*GetUser(), sToken);
    const apns::Token Token = apns::Token::from_hex(sToken);
    std::unique_ptr<CString> pKey(new CString(sKey));
    apns::Notification Notification;
    apns_error_t Error = APNS_ERROR_INIT;
    Notification.to(Token).with(pKey.get());
    apns_status_t iStatus =
        m_pSession->try_send(Notification, Payload, APNS_SEND_MORE, nullptr, nullptr, &Error);
    if (iStatus == APNS_OK) {
      pKey.release(); /* comes back with the outcome */
      return true;
    }
    Told(sKey, "not pushed: " + CString(Error.message));
    return false;
  }

  /* Called after each push, and by the timer. */
  void Process() {
    apns_error_t Error = APNS_ERROR_INIT;
    if (m_pSession->try_process(&Error) < APNS_DONE) m_sLastFailure = Error.message;
    TakeOutcomes();
    CTimer* pTimer = FindTimer("apns");
    if (m_pSession->stats().unresolved == 0) {
      if (pTimer) pTimer->Stop(); /* ZNC deletes it later, so this may be its own call */
    } else if (pTimer) {
      pTimer->Start(INTERVAL);
    } else {
      AddTimer([](CModule* pModule, CFPTimer*) { static_cast<CApnsMod*>(pModule)->Process(); },
               "apns", 1, 0, t_s("Takes the outcomes of pushes"));
      FindTimer("apns")->Start(INTERVAL);
    }
  }

  void TakeOutcomes() {
    for (const apns::Event& Event : m_pSession->try_events()) {
      const std::unique_ptr<CString> pKey(Event.data<CString>());
      const MCString::iterator it = FindNV(*pKey);
      if (it == EndNV()) continue; /* removed meanwhile */
      /* A device that registered again after it was gone has another installation of the app. */
      const bool bAgain = Event.timestamp != 0 && it->second.ToLongLong() > Event.timestamp;
      if (Event.has_invalid_token() && !bAgain)
        SetNV(*pKey, CString(std::string(Event.reason_text())));
      if (Event.is_accepted())
        m_msOutcomes[*pKey] = Event.describe();
      else
        Told(*pKey, Event.describe());
    }
  }

  /* For ListDevices, and for the user's clients if there are any. */
  void Told(const CString& sKey, const CString& sOutcome) {
    CUser* pUser = CZNC::Get().FindUser(sKey.Token(0));
    m_msOutcomes[sKey] = sOutcome;
    if (pUser) pUser->PutModule(GetModName(), sKey.Token(1).Left(8) + "...: " + sOutcome);
  }
};

template <>
void TModInfo<CApnsMod>(CModInfo& Info) {
  Info.SetHasArgs(true);
  Info.SetArgsHelpText(
      Info.t_s("key_file=FILE key_id=ID team_id=ID topic=ID, or certificate_file=FILE; "
               "[environment=sandbox] [ca_file=FILE] [host=NAME] [port=NUMBER]"));
}

GLOBALMODULEDEFS(CApnsMod, t_s("Pushes highlights and private messages to Apple devices"))
