//! How the text of an error begins: what shells, interpreters, servers and gateways print in place of an answer.
//!
//! A summary can begin so too ("Error: … was fixed by …"). Then it tells what was done, which errors do not.

use std::sync::LazyLock;

use regex::Regex;

use crate::pattern::pattern;
use crate::sanitize::sanitize;

/// Whether a text begins as an error does, and tells nothing.
pub(super) fn is_error(text: &str) -> bool {
    let text = sanitize(&text.to_lowercase().replace('’', "'"));
    ERROR.is_match(&text) && !TELLING_WORDS.is_match(&text)
}

/// What may stand before an error: signs, tags, something in brackets, a time, names of programs.
const BEFORE: &[&str] = &[
    r#"[\s*_#>•×✖✗❌⚠⛔🚫🛑!|"'`“”«»]"#,
    r"<[a-z!/?][^>]*>",
    r"\[[a-z0-9_ :./,+-]*\]",
    r"[0-9]{4}[-/][0-9]{2}[-/][0-9]{2}[t ,]*[0-9:.,]+(?:z|[+-][0-9]{2}:?[0-9]{2})?",
    r"[a-z0-9_./\\@+-]+(?:\([0-9]+\))?: ",
    r"(?:line )?[0-9]+: ",
];

/// Words that can stand before the name of an error.
const CLASS: &str = "api|https?|rpc|grpc|server|client|network|internal|request|response|fatal|critical|unknown|\
    unexpected|unhandled|uncaught|runtime|connection|timeout|auth[a-z]*|parse|syntax|validation|model|provider|ssl|tls|\
    dns|socket|system|general|execution|config[a-z]*|usage|stream|fetch|llm|openai|anthropic|gemini|ollama|\\(in promise\\)";

/// The name of an error: alone, or as that of a class.
const NAME: &str = r"[a-z0-9_.:$\\]*(?:error|exception|fatal|panic(?:ked)?|failure|fault)";

/// The name in other languages.
const NAMES: &str = "错误|出错|报错|异常|失败|エラー|例外|오류|에러|ошибка|помилка|fehler|erreur|errore|erro|błąd|hata|lỗi|fout|fejl|\
    virhe|chyba|hiba|eroare|σφάλμα|خطأ|שגיאה|त्रुटि|ข้อผิดพลาด|kesalahan";

/// The words of a status, behind its number.
const STATUS: &str = "bad request|unauthori[sz]ed|payment required|forbidden|(?:page )?not found|method not allowed|\
    not acceptable|request time-?out|conflict|gone|(?:payload|request entity|content) too large|unsupported media type|\
    unprocessable(?: entity| content)?|too many requests|internal(?: server)? error|not implemented|bad gateway|\
    (?:service|server)(?: is)?(?: temporarily)? unavailable|gateway time-?out|(?:site is |server )?overloaded|\
    (?:client|server) error|web server is down";

/// Words that a sentence can begin with too: the error ends behind them, or a sign or its place follows.
const NOUNS: &[&str] = &[
    "bad gateway",
    "bad request",
    "too many requests",
    "internal(?: server)? error",
    "(?:gateway|request) time-?out",
    "(?:service|server)(?: is)?(?: temporarily)? unavailable",
    "temporarily unavailable",
    "method not allowed",
    "payment required",
    "unprocessable entity",
    "permission denied",
    "access denied",
    "(?:cuda )?out of memory",
    "connection (?:refused|reset|timed out|error|closed|aborted)",
    "network error",
    "broken pipe",
    "bus error",
    "segmentation fault",
    "rate[ _-]?limit(?:ed|[ _](?:exceeded|reached|hit|error))",
    "quota[ _]exceeded",
    "overloaded(?:_error)?",
    r"aborted \(core dumped\)",
    "authentication[_ ](?:failed|required|error)",
    "login required",
    "execution error",
    "insufficient[_ ](?:quota|credits?|funds|balance|permission)",
    "(?:[a-z]+ ){0,4}(?:quota|limit|credits?|budget) (?:has been |is |was )?(?:exceeded|reached|exhausted|used up)",
    "fetch failed",
    "empty response",
    "(?:the )?(?:invalid|incorrect|missing|expired|wrong|unrecogni[sz]ed|no) (?:[a-z]+ )?(?:api[ _-]?key|x-api-key|access token|auth[a-z]*|credentials?)(?: found| provided)?",
];

/// Words that are an error only if nothing follows.
const ALONE: &str = "killed|aborted|terminated|failed|failure|unauthori[sz]ed|forbidden|(?:[0-9]{3} )?(?:page )?not found|\
    gone|conflict|timed? ?out|denied|error|exception";

/// What interpreters, shells and tools print.
const OF_PROGRAMS: &[&str] = &[
    r"traceback \(most recent",
    "exception in thread",
    r"thread '[^']*' (?:\([0-9]+\) )?panicked",
    "goroutine [0-9]",
    r"uncaught (?:\(in|[a-z]*(?:error|exception)\b)",
    "unhandled (?:promise )?(?:rejection|exception)",
    "npm err",
    "assertion (?:`[^`]*` )?failed",
    "abort trap",
    "(?:connect )?econn(?:refused|reset|aborted)",
    "etimedout|enotfound|eai_again|epipe|eacces|enoent|err_[a-z]",
    "getaddrinfo",
    "dial tcp",
    "tls handshake",
    "get \\S*http",
    "socket hang up",
    r"usage: \S+ [\[<-]",
    "try '[^']*--help",
    r"curl: \([0-9]+\)",
    "wget: ",
    "ssh: ",
    "command not found: ",
    "'[^'\\n]*' is not recognized",
    "the term '[^'\\n]*' is not",
    "no such (?:file or directory|command|option|model|host)",
    r"[^\n]*: (?:(?:command )?not found|no such file or directory|permission denied|is a directory|connection refused|timed out|operation not permitted|cannot allocate memory|exec format error)\s*$",
    r"[a-z0-9_./-]+: (?:unrecognized|unknown|invalid|illegal) (?:option|argument)",
    r"unexpected (?:token|end of|eof|status|response)",
    "no module named",
    "<(?:error|fault|exception|[a-z]+:fault)[ >]",
    "error (?:generating|calling|connecting|fetching|reading|parsing|loading|sending|running|creating|opening|processing|communicating|while|from)\\b",
];

/// What servers, gateways and the clients of models say.
const OF_SERVERS: &[&str] = &[
    "upstream (?:connect|request|server)",
    "no healthy upstream",
    "default backend",
    "cannot (?:post|get|put) /",
    "no response from",
    r"just a moment\.\.\.",
    "something went wrong",
    "oops[!,. ]",
    "(?:an? |the )?(?:(?:unknown|unexpected|internal|fatal) )?(?:error|problem) (?:has )?(?:occurred|happened)",
    "(?:the |our )?(?:server|service|model|engine|api|backend|system)(?: \\S+)? (?:had an error|(?:is )?(?:currently |temporarily )?(?:overloaded|unavailable|busy|at capacity|not available))",
    "(?:the )?that model is currently overloaded",
    "we(?:'re| are) (?:sorry|currently|experiencing)",
    "rate limit (?:has been |was )?(?:exceeded|reached|hit) (?:for|on|in)\\b",
    "(?:sorry, )?you(?:'ve| have| are being| were)? (?:been )?(?:rate[ -]limited|exceeded|hit|reached|run out of|ran out of|out of)\\b",
    "(?:your )?credit balance",
    "resource(?: has been |[_ ])exhausted",
    "please (?:try again|wait|slow down|retry|log ?in|sign in|run /login|check your|set (?:the|your)|verify|provide (?:an?|your) (?:valid )?(?:api|token))",
    "try again (?:later|in)\\b",
    "(?:the |your )?(?:request|operation|connection|stream|prompt|input|context deadline|deadline|socket)(?: was| is| has)?(?: been)? (?:timed out|failed|aborted|too (?:large|long)|rejected|cancell?ed|blocked|refused|reset|closed|exceeded|lost|terminated)(?:\\W|$)",
    "time-?out (?:of [0-9]+ ?m?s exceeded|after [0-9]|exceeded|while|waiting|error)",
    "(?:failed to|could not|couldn't|cannot|can't|unable to|not able to) (?:fetch|connect|load|parse|get|send|generate|open|read|start|resolve|reach|authenticate|create|execute|initiali[sz]e|call|establish|complete|access|retrieve|import|process)\\b",
    "no (?:route to host|space left|api key|internet|credentials)",
    "(?:your |the )?(?:api key|access token|token) (?:is|has|was) (?:invalid|missing|expired|been|not|revoked)",
    "this model'?s maximum",
    "(?:the )?model [^ ]+ (?:does not exist|was not found|not found|is not (?:supported|available)|has been deprecated|is deprecated)",
    "context[_ ]length[_ ]exceeded",
    "maximum context length",
    "claude (?:ai |code )?usage limit",
    r#"\{?\s*["'](?:error|errors|error_?code|error_?message|err|fault|exception|detail|status_?code)["']\s*:"#,
    "error=",
    "temporary failure",
];

/// What they say in other languages.
const OF_OTHERS: &[&str] = &[
    "(?:请求|请求次数|访问)(?:过于频繁|超时|失败|过多|被拒绝|错误)",
    "(?:服务器|服务|系统|网络)(?:内部)?(?:错误|繁忙|异常|超时|不可用)",
    "内部(?:服务器)?错误",
    "(?:网络)?连接(?:超时|失败|被拒绝|被重置)",
    "请稍[后候]\\w*",
    "余额不足",
    "(?:api ?)?密钥无效",
    "(?:内部)?サーバー(?:内部)?エラー(?:が発生\\w*)?",
    "リクエスト(?:が多すぎ|に失敗|がタイムアウト)\\w*",
    "接続(?:が拒否|できません)\\w*",
    "しばらく(?:して|経って)から\\w*",
    "요청이 너무 많\\w*",
    "서버 오류",
    "zu viele anfragen",
    "interner (?:server-?)?fehler",
    "zeitüberschreitung",
    "verbindung (?:abgelehnt|verweigert|fehlgeschlagen)",
    "trop de requêtes",
    "erreur (?:interne(?: du serveur)?|de connexion|inconnue)",
    "délai (?:d'attente )?dépassé",
    "demasiadas (?:solicitudes|peticiones)",
    "error (?:interno(?: del servidor)?|de conexión|desconocido)",
    "tiempo de espera (?:agotado|excedido)",
    "muitas (?:solicitações|requisições)",
    "erro (?:interno|de conexão)",
    "troppe richieste",
    "errore (?:interno|di connessione)",
    "слишком много запросов",
    "внутренняя ошибка",
    "te veel verzoeken",
];

/// Words of somebody who tells what happened or what is to be done.
const TELLING: &[&str] = &[
    "(?:the )?user(?:'s)? (?:ask|want|report|said|say|saw|see|need|confirm|decid|prefer|wish|complain|goal|order|rule|hit|got|get|told|pasted|showed)[a-z]*",
    "users (?:saw|see|now)",
    "we (?:install|wait|use|chose|found|now|then|set|made|put|kept|will|added|changed|decided|agreed)",
    "tests? pass(?:es)?",
    "fix(?:e[sd]|ing)?",
    "mended|repaired|solved|added|replaced|renamed|refactored|rewrote|rewritten|raised|lowered|reproduced?|traced",
    "investigat[a-z]+|cause[ds]?|c[ao]mes? from|came|handling|restyled|documented|turned out",
    "(?:is|are|was|were) (?:now|shown|seen|handled|retried|caught|logged|translated|mapped|due)",
    "now (?:returns?|handle[sd]?|passes|works|has|uses|gets)",
    "next(?: step)?:",
    "todo|rolled back|reverted",
    "(?:says|said|asked|reported) the user",
    "behoben|corrigée?|corregid[oa]",
];

/// Matches the beginning of an error, in lower case.
static ERROR: LazyLock<Regex> = LazyLock::new(|| {
    const BEHIND: &str =
        r"(?:\s*(?:$|\n|[^\w\s'’-]|- )|\s+(?:for|from|while|when|on|at|by|to|in|with|after|because|due)\b)";
    let any = |words: &[&str]| words.join("|");
    let class = format!("(?:(?:{CLASS})[ -]+){{0,3}}");
    let forms = [
        r"\[?(?:error|fatal|critical|panic|severe)\]".to_owned(),
        format!(
            r"{class}{NAME}(?: (?:status )?(?:code )?[a-z]*[0-9][a-z0-9-]*| ?[\[(][^\])\n]*[\])])?\s*(?:[:：!！]|[–—-] )"
        ),
        format!(r"{class}(?:error|exception)(?: (?:status )?code)?:? *\(?[1-9][0-9]{{2,4}}(?:{BEHIND}| (?:{STATUS}))"),
        format!(r"(?:https?(?:/[0-9.]+)? *)?(?:status )?(?:code)?:? *[45][0-9]{{2}}[ :.|-]*(?:$|(?:{STATUS}){BEHIND})"),
        format!(r"(?:{NAMES})\s*\(?[0-9]*\)?\s*(?:[:：!！]|\W*$)"),
        format!(r"(?:{ALONE}|{class}{NAME})(?:: [0-9]+)?\W*$"),
        format!(r"(?:{}){BEHIND}", any(NOUNS)),
        any(OF_PROGRAMS),
        any(OF_SERVERS),
        format!(r"(?:{})\s*(?:$|[.。!！,，:：;；、請请])", any(OF_OTHERS)),
    ];
    pattern(&format!("^(?:{})*(?:{})", any(BEFORE), forms.join("|")))
});

/// Matches words of somebody who tells.
static TELLING_WORDS: LazyLock<Regex> = LazyLock::new(|| pattern(&format!(r"\b(?:{})\b", TELLING.join("|"))));

/// Builds the patterns of this file.
#[cfg(any(test, feature = "tests"))]
pub fn patterns() -> Vec<&'static Regex> {
    vec![&*ERROR, &*TELLING_WORDS]
}
