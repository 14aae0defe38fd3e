//! Finds secrets by the command, the statement or the file around them: a row each.

use std::sync::LazyLock;

use regex::{Regex, bytes};

use crate::extents::{LONGEST_NAME, LONGEST_VALUE, is_delimiter};
use crate::kinds::{COOKIE, PASSWORD, SECRET, URL_PASSWORD};
use crate::names::NameClass;
use crate::pattern::{ascii_pattern, pattern};
use crate::values::ValuePlace::{self, Anywhere, Command, Line, Quotes, Sentence, Setting};
use crate::{SecretSpan, elements, values};

/// The kind, what the value can be, and its place. Without quotes it can be any word (`Command`), what looks random
/// (`Anywhere`), or nothing (`Quotes`); in `Setting` it must look random in quotes too, and in `Line` there it must, and be in
/// quotes. In the place, `<>` is the value, and between these what else the quotes hold before it. `~` is what is between a command
/// and a flag.
#[rustfmt::skip]
const PLACES: &[(&str, ValuePlace, &str)] = &[
    (PASSWORD, Command, r#"(?:oracle:(?:thin|oci8?):|(?i:\bconn(?:ect)?)[ \t(]+)\\*["']?[\w.$#-]+"?/<>@"#),
    (PASSWORD, Command, r#"\b(?:sqlplus|impdp|expdp|sqlldr|rman)[ \t]+(?:-\w+[ \t]+)*\\*["']?[\w.$#-]+/<>"#),
    (PASSWORD, Command, r"(?:(?:^|default\s+|machine\s+\S+\s+)login\s+\S+\s+(?:account\s+\S+\s+)?|\b(?:nmcli|rclone)\b~[ \t])(?:password|pass|(?:[\w-]+\.)?psk|secret_access_key)\s+<>"),
    (PASSWORD, Command, r#"["']curl["'],~["']-u["'],[ \t]*<[^\s"':,]*:>"#),
    (PASSWORD, Command, r#"(?:\bcurl\b~[ \t](?:-[A-Za-z]*[uUE]|--(?:proxy-)?user|--cert)|\betcdctl\b~[ \t]--user|\b(?:https?|xh|hey|ab|l?ftp)[ \t]~-[aAu]|--(?:src-|dest-)?creds)[ \t=]*<[^\s"':,]*[:,]>"#),
    (SECRET, Anywhere, r#"\bcurl\b~[ \t]-[A-Za-z]*u[ \t]*["']?<>:["'\s]"#),
    (PASSWORD, Command, r"\b(?:mysql\w*|mariadb[\w-]*|7z[ar]*|unrar|mongo)\b~[ \t]-h?p<>"),
    (PASSWORD, Command, r"(?:[ \t]login|\btwine[ \t]upload|\b(?:mongo\w*|my?cli|cqlsh|cypher-shell|smbmap|crackmapexec|netexec|evil-winrm|rdesktop|racadm|snowsql|hydra))\b~[ \t]-p[ \t]+<>"),
    (PASSWORD, Anywhere, r"[ \t]-(?:u|l|-user(?:name)?)[ \t=]+[^\s-]\S*[ \t](?:[^\n|;]{0,80}[ \t])?-p[ \t]+<>"),
    (PASSWORD, Command, r"\b(?:(?:un)?zip|sqlcmd|bcp|isql|osql|mssql-cli|ipmitool|mosquitto_\w+)\b~[ \t]-P[ \t]*<>"),
    (PASSWORD, Command, r"\b(?:redis-cli\b~[ \t]-a|ldap\w+[ \t]~[ \t]-w|ssh-keygen\b~[ \t]-[NP]|snmp\w*\b~[ \t]-[cAX]|swaks\b~[ \t]-ap|ldappasswd\b~[ \t]-s|schtasks\b~[ \t]/rp|encrypt_string|\brclone[ \t]obscure|\bsecurity[ \t][\w-]+keychain\b~[ \t]-[pP]|\bsecurity[ \t]add-\w+-password\b~[ \t]-w|\bsigntool\b~[ \t]/p|\bopenssl[ \t]passwd(?:[ \t]-[\w-]+)*[ \t]|openssl\b~[ \t]-k[ \t]|p(?:link|scp|sftp)\b~[ \t]-pw|\bread[ \t]~\w*(?i:pass|pwd|secret|token|key)\w*[ \t]*<<<|(?:sudo|cryptsetup|login|passwd|vncpasswd|gpg|kinit|su|secret[ \t]create|pass[ \t]insert|secret-tool|secret[ \t]put|env[ \t]add)\b~<<<|\buser(?:add|mod)\b~[ \t]-p)[ \t]*<>"),
    (PASSWORD, Command, r"\b(?:ht|mosquitto_)passwd[ \t]+(?:-\w+[ \t]+)*-[a-zA-Z]*b[a-zA-Z]*[ \t]+(?:-\w+[ \t]+)*(?:[^\s|]+[ \t]+){1,2}<>"),
    (PASSWORD, Command, r#"\b(?:smbclient|rpcclient|wbinfo|net[ \t]r\w+)\b~-[Ua][ \t]*<[^\s"'%]+%>"#),
    (PASSWORD, Command, r"\b(?:echo|printf)[ \t]+(?:-\w+[ \t]+)?<(?:\w+:)?>[ \t]*\|[ \t]*(?:sudo[ \t]+)?(?:-S|chpasswd|passwd|kinit|cryptsetup|[\w.-]+[ \t]~login|[\w-]+[ \t]~secrets?[ \t])"),
    (PASSWORD, Setting, r"\b(?:echo|printf)[ \t]+(?:-\w+[ \t]+)*<>[ \t]*>+[ \t]*\S*(?i:passw|vault_pass|secret|token|credential)"),
    (PASSWORD, Anywhere, r"\bbw[ \t]+(?:login[ \t]+\S+@\S+|unlock(?:[ \t]+--raw)?)[ \t]+<>"),
    (PASSWORD, Anywhere, r"\b(?i:setuser|user)[ \t]+\S+[ \t]+on[ \t]+>?>[ \t]*<>"),
    (PASSWORD, Command, r"\bWIFI:(?:[TSH]:[^;\n]*;)*P:<>;"),
    (PASSWORD, Line, r#"(?i:password|passwd|pwd|secret|token|key)[ \t]+As[ \t]+String[ \t]*=[ \t]*<>"#),
    (PASSWORD, Line, r#"\.load\([^"'\n]*,\s*<>\.toCharArray"#),
    (PASSWORD, Anywhere, r"assword to proceed to installation:\s+<>"),
    (PASSWORD, Command, r"(?i:\b(?:create|alter)\s+user\s+\S+\s+identified\s+by)\s+<>"),
    (PASSWORD, Anywhere, r#"(?:(?i:\b(?:identified\s+(?:with\s+\S+\s+)?(?:by|as)|with\s+(?:encrypted\s+)?password|options\s*\([^()\n]*password|poll\s[^\n]*\spass(?:word)?)\s+|\bset\s+password\s+for\s+\S+\s*=\s*(?:password\()?)|(?:^|>[ \t])AUTH[ \t]+(?:\w+[ \t]+)?)<>"#),
    (PASSWORD, Anywhere, r#"(?:(?:\bprintenv |\becho ["']?[$%]\{?|\$env:|-field[= ]|config(?::|[ \t]+(?:--)?)get|\boutput )[^\n]*?(?i:pass|secret|token|key|pwd)|\b(?:pass show|op read|vault kv get -field|bw get|secrets versions access|secret-tool lookup|doppler secrets get|keyvault secret show|find-generic-password|kubectl create token) |SecretString |\b(?:auth (?:application-default )?print-(?:access|identity)-token|account get-access-token|(?:fly(?:ctl)?|heroku|gh) auth[ :]token)|\bopenssl rand -(?:hex|base64) [0-9]|^(?:\$ )?cat \S*(?i:token|secret|password|api_?key)(?:\.txt)?$|\bget secrets? [^\n]*jsonpath)[^\n]*\n<>[ \t]*$"#),
    (PASSWORD, Command, r"(?:\bsshpass[ \t]+-p[ \t]*|[ \t]-(?:src|dest)?(?:store|key)pass[ \t]+|[ \t]-pass(?:in|out)?[ \t]+pass:|\bx?freerdp\b~/p:|[pP]?assword[^\n]{0,80}(?:\bsend|\n[ \t]*(?:exp_)?send)[ \t]+(?:--[ \t]+)?)<>"),
    (PASSWORD, Quotes, r#"assword[^\n]{0,40}\n[ \t]*\w+\.send(?:line)?\(<>"#),
    (PASSWORD, Command, r"\b(?:requirepass|masterauth|wpa_passphrase[ \t]+\S+|net[ \t]use[ \t][^\n]*?/user:\S+|net[ \t]user[ \t]+\w+|mc[ \t]+alias[ \t]+set[ \t]+\S+[ \t]+\S+[ \t]+\S+|(?:add_user|change_password|http-basic\.\w+)[ \t]+\S+|reset-admin-password|\w+ctl[ \t]+register[ \t]+\S+[ \t]+\S+)[ \t]+<>"),
    (PASSWORD, Command, r"\bnet[ \t]use[ \t]+(?:\w:[ \t]+)?\\\S+[ \t]+<>[ \t]+/u"),
    (PASSWORD, Anywhere, r"^(?:[\w.*-]+:(?:[0-9]{4,5}|\*):[\w*-]+:[\w.-]+|\[[\w.-]+\](?::[0-9]+)?[ \t]+[\w.@-]+):<>$"),
    (PASSWORD, Quotes, r#"(?:(?i:password|secret|token|api_?key)(?:\s*:\s*[\w.\[\]]{1,40}\s*=|\s*[:=])\s*(?:String::from|Some|new[ \t]+String|\w*Secret\w*(?:::new)?)|\bPASSWORD|[cC]hange(?:User)?Password|\.auth|\.log[iI]n|BasicAuth|NetworkCredential|[pP]lainText)\((?:["'][^"'\n]*["'],\s*)?<>"#),
    (PASSWORD, Line, r#"\bCredentials\((?:["'][^"'\n]*["'],\s*){3}<>"#),
    (PASSWORD, Line, r#"(?:\blog[iI]n|\.(?:auth|basic|authenticate)|\b[aA]uthBasic|\w*Credentials?(?:\.(?:basic|create))?|\.credentials|WiFi\.begin|basic_auth|PasswordAuthentication|StaticCredentials\w*|simple_bind(?:_s)?|\b(?:auth|creds?|credentials?)\s*[=:]\s*)[(\[]["'][^"'\n]*["'],\s*(?:Some\()?<>"#),
    (PASSWORD, Line, r#",[ \t]*(?i:pass(?:word|wd)?|pwd)\)?[ \t]*=[ \t]*\(?["'][^"'\n]*["'],[ \t]*<>"#),
    (SECRET, Line, r#"(?:\b(?i:jwt)\.(?:sign|verify|encode|decode)\((?:["'][^"'\n]*["']|\{[^{}\n]{0,120}\}|[^"'\n]*?),\s*|\bsignWith\([\w.]+,\s*|\bSECURITY_CREDENTIALS,\s*|\b(?:hmac\.new|Fernet)\(b?|[cC]reateHmac\(["'][\w-]+["'],\s*|\b(?:from_secret|new_from_slice|\w*KeyCredential|SymmetricSecurityKey\([\w.]+|SecretKeySpec)\(b?)<>"#),
    (SECRET, Setting, r#"(?i:secret|password|token|(?:jwt|sign|signing|private|api)_?key)\s*:?=\s*(?:\[\]byte|Buffer\.from|bytes)\(<>"#),
    (PASSWORD, Line, r#"(?i:password|secret|token|api_?key)\((?:Some|Secret\w*(?:::\w+)?|String::from)\(\s*<>"#),
    (SECRET, Line, r#"\b(?:resValue|buildConfigField)[ (]+["']\w+["'],[ \t]*["']\w*(?i:key|secret|token|password)\w*["'],[ \t]*(?:["']\\*)?<>"#),
    (PASSWORD, Line, r#"\b(?i:password|pwd|secret)\s*=\s*(?i:md5|sha[0-9]{0,3}|password|crypt|encrypt|hash)\(\s*<>"#),
    (PASSWORD, Line, r#"(?:\bPDO|PlainAuth|mysqli(?:_connect)?|getConnection|ftp_login|ldap_bind|imap_open|DBI->connect|ClientSecretCredential)\((?:[^"'\n,()]*(?:["'][^"'\n]*["'])?,\s*){2}<>"#),
    (PASSWORD, Line, r#"\bassert[\w.!]*\((?:\w+,[ \t]*)?<>,[ \t]*(?:\w+[.>-]+)*\w*(?i:password|passwd|api_?key)(?:\(\))?\)"#),
    (PASSWORD, Line, r#"(?i:password|secret|token)\w*[ \t]*=[ \t]*[\w.]*write\w*[ \t]+"[^"\n]*"[ \t]+<>"#),
    (PASSWORD, Line, r#"\b(?:param|const|var)\s+\w*(?i:password|secret|token|key)\s+string\s*=\s*<>"#),
    (PASSWORD, Quotes, r#"\bCURLOPT_(?:PROXY)?USERPWD,\s*<[^\s"':,]*:>"#),
    (PASSWORD, Line, r#"\bsetenv[ \t]+"\w*(?:KEY|TOKEN|SECRET|PASSWORD)"[ \t]+<>"#),
    (PASSWORD, Anywhere, r#"(?i:pass|secret|token|key)[\w-]*-command[ \t=]+\\*["']?echo[ \t]+<>"#),
    (PASSWORD, Command, r"\bchpasswd\b~<<<[ \t]*<\w+:>"),
    (PASSWORD, Line, r#"\bSecret(?:String|Box|Vec)?::(?:new|from)\(\s*<>"#),
    (PASSWORD, Line, r#"\b(?:case|match|switch)[ \t(]+\w*(?i:password|passwd|secret)\)?[ \t]*(?:of|\{(?:[ \t\n]*case)?)[ \t\n]*<>[ \t]*(?:->|=>|:)"#),
    (PASSWORD, Anywhere, r#"(?i:pass|secret|token|key)[\w-]*[= \t]<\((?:echo|printf)[ \t]+(?:-n[ \t]+)?<>\)"#),
    (PASSWORD, Setting, r"(?:Password|Secret|Token):[ \t]*\n(?:[ \t]+(?:Type|Description|NoEcho|MinLength|MaxLength|AllowedPattern):[^\n]*\n)*[ \t]+Default:[ \t]*<>"),
    (PASSWORD, Line, r#"\b(?:variable|output|resource\s+"\w+")\s+"\w*(?i:passw(?:or)?d|pass|secret|secret_key|token|api_?key|private_key|credential)"\s*\{[^{}]*?\b(?:default|value|result|secret_string)\s*=\s*<>"#),
    (PASSWORD, Line, r#"(?:(?i:passw(?:or)?d|(?:\b|_)pwd?|secret|token|_key|api_?key)(?:["'\])]*\s*(?:\|\||\?\?)|["'][\])]+\s*\{|["'\])]+(?:\s*or\b|\.(?:unwrap_or|or|orElse|getOrElse|or_else)\()|[ \t]+by[ \t]+lazy[ \t]*\{)\s*|ConvertTo-SecureString\s+(?:-String\s+)?)<>"#),
    (PASSWORD, Line, r#"(?:["']--?[\w-]*(?i:passw(?:or)?d|passphrase|secret|token|key)["'][^()\n]*?|(?i:passw(?:or)?d|secret|token|key)[ \t]*(?::[^=\n"'()]{1,40})?=[ \t]*[\w.]+\([^()\n"']{0,80}?)\bdefault\s*=\s*<>"#),
    (PASSWORD, Line, r"\b(?i:replace)[ \t]+<>[ \t]*(?:;|$)"),
    (PASSWORD, Setting, r"^[ \t]*(?:(?:admin|auth|bind|broker|cert|client|db|hibernate|http|imap|javax|jdbc|key|ldap|mail|mqtt|proxy|root|server|smtp|spark|spring|ssl|tls|wifi)[\w.-]*[_.-](?:password|passphrase|secret|pw|keyPassword)|auth_pass|[\w -]*plain-text-password-value|rootpw|bindpw|r[ow]community)[ \t]+<>"),
    (PASSWORD, Setting, r"\b(?:input|owner)_pw[ \t]+<>"),
    (PASSWORD, Setting, r"(?:temporary password is generated for \S+:|^New value:)[ \t]+<>"),
    // Devices: what says how a password is written may precede it.
    (PASSWORD, Setting, r"(?:^[ \t]*(?:wpa-psk|ike-psk|key-string|neighbor[ \t]+\S+[ \t]+password|(?:isis|vtp|ppp[ \t]+chap)[ \t]+password)|^[ \t]+password[ \t]+[057]|^[ \t]*pre-shared-key(?:[ \t]+address[ \t]+\S+[ \t]+key)?|\bpre-shared-key[ \t]+ascii-text|\bauthentication[ \t]+pre-shared-secret|\b(?:username[ \t]+\S+[ \t]+(?:privilege[ \t]+[0-9]+[ \t]+)?(?:password|secret)|sent-username[ \t]+\S+[ \t]+password|enable[ \t]+(?:password|secret)|snmp(?:-server)?[ \t]+community|(?:radius|tacacs)-server[ \t]+(?:host[ \t]+\S+[ \t]+)?key|isakmp[ \t]+key|(?:authentication|message-digest)-key|md5[ \t]+key-string|set[ \t]+(?:psksecret|passwd|password[ \t]+ENC)))(?:[ \t]+(?:[0-9]{1,3}|ascii(?:-text)?|hexadecimal|hex|md5|ENC|encrypted))*[ \t]+<>"),
    (PASSWORD, Setting, r":[ \t]*(?:PSK|EAP|XAUTH)[ \t]+<>"),
    (PASSWORD, Anywhere, r"\biwconfig\b~[ \t]key[ \t]+(?:s:)?<>"),
    // Steps of a build, which hide a value or set it.
    (SECRET, Setting, r"(?:::add-mask::|##vso\[task\.setvariable[^\]\n]*(?i:issecret=true)[^\]\n]*\])<>"),
    (SECRET, Anywhere, r"\b(?:(?:config(?:ure)?(?:[ \t]+set)?|user-secrets[ \t]+set|Set-Item|(?:kv|etcdctl)[ \t]+put|env:set)[ \t]+(?:--\w+[ \t]+)?\S*(?i:secret|token|passw|_key)\S*|doctl[ \t]auth\b~[ \t]-t|nuget[ \t]push\b~[ \t]-k|(?:secret|variable)[ \t]+set[ \t]+\w+[ \t]+(?:-b|--body)|(?:secret[ \t]+(?:set|add|put)|SecureString)\b~--(?:value|data)|doppler[ \t]+secrets[ \t]+set[ \t]+\w+[ \t]|codecov\b~[ \t]-t|snyk[ \t]+auth|(?:vault|cargo)[ \t]+login[ \t]|wandb[ \t]+login|authtoken|D?sonar\.login)[ \t=]*<>"),
    (SECRET, Command, r"(?:--from-literal[= \t]|\b(?:fly(?:ctl)?|supabase)[ \t]secrets[ \t]set\b~[ \t]|\bvault[ \t]kv[ \t]+put\b~[ \t])<\w[\w.-]*=>"),
    (SECRET, Command, r"\bvault[ \t]write\b~[ \t]<[\w.-]*(?i:passw|secret|token|key)[\w.-]*=>"),
    // Forms: a part of one that is sent, a field that a test fills in, and the head of a page.
    (PASSWORD, Command, r#"form-data;[ \t]*name=\\*["'](?i:[\w.-]*(?:passw(?:or)?d|passphrase|secret|token|api_?key))\\*["'](?:\r?\n|(?:\\+r)?\\+n){2}<>"#),
    (PASSWORD, Line, r#"\.(?:fill|type|send_?[kK]eys|pressSequentially|setValue)\([^,()\n]{0,60}(?i:passw(?:or)?d|pwd|api-?key|token|secret)[^,()\n]{0,24}["'],\s*<>"#),
    (PASSWORD, Line, r#"(?i:passw(?:or)?d|pwd|api-?key|token|secret)[^,()\n]{0,16}["']\)+\.(?:fill|type|send_?[kK]eys|pressSequentially|setValue)\(<>"#),
    (PASSWORD, Line, r#"<input[ \t][^<>\n]*?\btype=\\*["']password\\*["'][^<>\n]*?[ \t]value=<>"#),
    (PASSWORD, Line, r#"\bfill_in[ (]["'][^"'\n]*(?i:password|token|secret)[^"'\n]*["'],[ \t]*with:[ \t]*<>"#),
    (SECRET, Line, r#"<meta[ \t][^<>\n]{0,80}?\bname=\\*["'][\w.:-]*(?i:key|token|secret|password)\\*["'][^<>\n]{0,40}?[ \t]content=<>"#),
    // Headers that a server or a program sets.
    (SECRET, Anywhere, r"\b(?:(?:proxy|grpc|uwsgi)_set_header|add_header|fastcgi_param|more_set_(?:input_)?headers?|RequestHeader[ \t]+(?:set|add)|http-request[ \t]+(?:set|add)-header)[ \t]+[\w-]*(?i:key|token|secret|password|authorization)[ \t]+<(?:(?:Basic|Bearer)[ \t]+)?>"),
    (SECRET, Line, r#"\.(?:set|add)Value\(<(?:Bearer )?>,\s*forHTTPHeaderField:\s*\\*["'][\w-]*(?i:key|token|secret|authorization)\b"#),
    // Calls and statements that take a password.
    (PASSWORD, Line, r#"(?:\bset_?[pP]assword\((?:["'][^"'\n]*["'],\s*){1,2}|\bwp_set_password\(|\bcreate_(?:super)?user\((?:["'][^"'\n]*["'],\s*){2})<>"#),
    (PASSWORD, Line, r#"(?i:\.(?:set_?)?(?:http_?)?basic_?(?:auth(?:entication)?)?)\(\s*["'][^"'\n]*["'],\s*<>"#),
    (PASSWORD, Line, r#"\bset[ (]:\w*(?:password|passphrase|secret|token|api_key)\w*,[ \t]*<>"#),
    (PASSWORD, Command, r"(?i:\bsp_addlogin)[ \t]+N?'[^'\n]*',[ \t]*N?<>"),
    (SECRET, Line, r#"\bA[KS]IA[0-9A-Z]{16}["'],\s*<>"#),
    (SECRET, Quotes, r#"\bgit(?:hub|lab)-(?:oauth|token)\\*["']\s*:\s*\{\s*\\*["'][^"'\n]*["']\s*:\s*<>"#),
    (PASSWORD, Line, r#"(?:\bbtoa|b64encode|base64_encode)\((?:b|new )?<[\w.@+-]{1,64}:>"#),
    (PASSWORD, Line, r#"\bprintf[ \t]+["'][^"'\n]{0,40}(?i:passw(?:or)?d|secret|token|key)[ \t]*[=:][ \t]*%s(?:\\+n)?["'][ \t]+<>"#),
    (PASSWORD, Line, r"\bMOVE[ \t]+<>[ \t]+TO[ \t]+[\w-]*(?:PASSWORD|PASSWD|SECRET|TOKEN)\b"),
    (PASSWORD, Anywhere, r"(?:^ftp>[ \t]+user[ \t]+\S+|(?i:\bnickserv[ \t:]+identify)(?:[ \t]+[a-zA-Z]+)?)[ \t]+<>"),
    (COOKIE, Command, r#"(?:\bcurl\b~[ \t](?:-b|--cookie)[ =]|document\.cookie\s*=\s*)<[\w.-]+=>"#),
    (COOKIE, Quotes, r#"\bcookies["']?\s*[:=]\s*\{\s*<["'][\w.-]+["']\s*:\s*>"#),
    (COOKIE, Command, r"\t(?:TRUE|FALSE)\t/[^\t\n]*\t(?:TRUE|FALSE)\t[0-9]+\t[^\t\n]+\t<>"),
];
/// The most bytes of a place that are searched again where it has no secret, so that the time is linear.
const SHORT_PLACE: usize = 160;
static ALL: LazyLock<bytes::Regex> = LazyLock::new(|| {
    let row = |(_, _, place): &(&str, ValuePlace, &'static str)| {
        let (before, rest) = place.rsplit_once('<').expect("a value");
        let (inside, behind) = rest.split_once('>').expect("the end of a value");
        let bare = if before.ends_with('/') { r#"[^\s"'`\\@]+"# } else { r#"[^\s"'`\\]+"# };
        let quote =
            |mark: &str| format!(r"(?:\\*{mark}{inside}|{inside}\\*{mark})((?:[^{mark}\n\\]|\\[^{mark}\n])+)\\*{mark}");
        format!("{before}(?:{}|{}|{inside}({bare})){behind}", quote("\""), quote("'"))
    };
    // What is left of a command.
    let rows = PLACES.iter().map(row).collect::<Vec<_>>().join("|").replace('~', r"(?:[^\n|;]|\\\n)*?");
    ascii_pattern(&format!("(?m:{rows})"))
});

/// Finds all of them in a text, part by part: the beginning of a command keeps a search going up to the end of its line.
pub(super) fn find(text: &str, found: &mut Vec<SecretSpan>) {
    let mut at = 0;
    while at < text.len() {
        let end = text.floor_char_boundary(at + 2 * LONGEST_VALUE);
        let captures = ALL.captures_at(&text.as_bytes()[..end], at);
        let place = match captures.as_ref().and_then(|captures| captures.get(0)) {
            Some(place) => place.range(),
            None => end..end,
        };
        let is_cut = place.end == end && end < text.len();
        if is_cut && place.start > at {
            at = text.ceil_char_boundary(place.start.min(end - LONGEST_VALUE / 4));
            continue;
        }
        let (start, is_short) = (place.start, place.len() <= SHORT_PLACE);
        at = place.end.max(at + 1);
        let Some(captures) = captures else { continue };
        let mut groups = captures.iter().skip(1).enumerate();
        let Some((index, group)) = groups.find_map(|(index, group)| Some((index, group?))) else { continue };
        let (kind, place, ..) = PLACES[index / 3];
        let is_bare = index % 3 == 2;
        let (place, may_be) = match place {
            Quotes => (Command, !is_bare),
            Line => (Anywhere, !is_bare),
            Setting => (Anywhere, true),
            place if is_bare => (place, true),
            _ => (Command, true),
        };
        let value = without_end(text.get(group.range()).unwrap_or_default());
        let candidate = values::SecretCandidate { class: NameClass::Password, name: "", value, place };
        let may_be = may_be && !is_stand_in(value) && !values::begins_otherwise(value);
        if may_be && candidate.is_secret() && !values::is_nothing(value) && !is_ip_address(&text[start..at]) {
            found.push(SecretSpan { range: group.start()..group.start() + value.len(), kind });
        } else if is_short {
            // The first words of one row can hide those of another.
            at = start + 1;
        }
    }
}

/// A value without what ends a statement, and without the escape of the key that sends it.
fn without_end(value: &str) -> &str {
    let value = value[..elements::before_tag(value, 0..value.len())].trim_end_matches([';', ',']);
    let value = value.strip_suffix("\\r").or(value.strip_suffix("\\n")).unwrap_or(value);
    value.trim_end_matches('\\')
}

/// Whether a value is the word for what would stand there, as in `curl -u user:password`.
pub(super) fn is_stand_in(value: &str) -> bool {
    const WORDS: [&str; 5] = ["pass", "passwd", "password", "secret", "token"];
    let is_capital = value.bytes().all(|byte| byte.is_ascii_uppercase());
    WORDS.contains(&value) || is_capital && WORDS.contains(&&*value.to_ascii_lowercase())
}

/// Whether a text is an address of IPv6, which is parted like a line of `.pgpass`.
fn is_ip_address(text: &str) -> bool {
    text.split(':').all(|part| part.len() <= 4 && part.bytes().all(|byte| byte.is_ascii_hexdigit()))
}

/// What follows an address in which `user:password@` needs no scheme: a host with its protocol, its number or its port.
static HOSTS: LazyLock<Regex> = LazyLock::new(|| {
    pattern(
        r"^(?-u:(?:tcp|unix)\(|/\w+[?\x22'`]|[0-9]{1,3}(?:\.[0-9]{1,3}){3}\b|[a-z][\w-]*(?:\.[\w-]+)+:[0-9]{2,5}\b)",
    )
});

/// Finds passwords in `user:password@host` without a scheme.
pub(super) fn find_logins(text: &str, found: &mut Vec<SecretSpan>) {
    for at in memchr::memchr_iter(b'@', text.as_bytes()) {
        if !HOSTS.is_match(&text[at + 1..text.floor_char_boundary(at + 1 + LONGEST_NAME)]) {
            continue;
        }
        let login = &text[text.ceil_char_boundary(at.saturating_sub(2 * LONGEST_NAME))..at];
        let login = login.rsplit(|c: char| u8::try_from(c).is_ok_and(is_delimiter)).next().unwrap_or(login);
        let Some((_, value)) = login.split_once(':') else { continue };
        if value.starts_with('/') {
            continue;
        }
        let candidate = values::SecretCandidate { class: NameClass::Password, name: "", value, place: Sentence };
        if candidate.is_secret() {
            found.push(SecretSpan { range: at - value.len()..at, kind: URL_PASSWORD });
        }
    }
}

/// Finds passwords in `scheme://user:password@host`, and tokens in place of the user.
pub(super) fn find_urls(text: &str, found: &mut Vec<SecretSpan>) {
    for mark in memchr::memmem::find_iter(text.as_bytes(), "://") {
        let start = mark + "://".len();
        let rest = &text[start..text.floor_char_boundary(start + LONGEST_VALUE)];
        let rest = &rest[..rest.find("://").unwrap_or(rest.len())];
        let address = &rest[..rest.find(ends_address).unwrap_or(rest.len())];
        let Some(last) = address.rfind('@') else { continue };
        let authority = &address[..address.find(['/', '?', '#']).unwrap_or(address.len())];
        let colon = authority.find(':').filter(|colon| *colon < last);
        // Without `@` before the first slash it is a host, a port and a path, unless the port is missing.
        let has_no_password = match colon {
            Some(colon) => authority[colon + 1..].bytes().all(|byte| byte.is_ascii_digit()),
            None => true,
        };
        let is_scope =
            address[..last].ends_with('/') || !address[last + 1..].starts_with(|c: char| c.is_ascii_alphanumeric());
        if !authority.contains('@') && (address.starts_with('[') || has_no_password || is_scope) {
            continue;
        }
        let user = &address[..colon.or_else(|| authority.find('@')).unwrap_or(last)];
        if values::is_dense(user, 16) && !values::is_reference(user) {
            found.push(SecretSpan { range: start..start + user.len(), kind: URL_PASSWORD });
        }
        let Some(colon) = colon else { continue };
        let password = colon + 1..last;
        let value = &address[password.clone()];
        if !password.is_empty() && !values::is_reference(value) && !is_stand_in(value) {
            found.push(SecretSpan { range: start + password.start..start + password.end, kind: URL_PASSWORD });
        }
    }
}

fn ends_address(c: char) -> bool {
    u8::try_from(c).is_ok_and(is_delimiter) || matches!(c, '\\' | '<' | '>')
}

/// Builds the pattern of this file that is one of texts.
#[cfg(any(test, feature = "tests"))]
pub(crate) fn patterns() -> Vec<&'static Regex> {
    vec![&*HOSTS]
}
