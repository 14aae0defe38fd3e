//! Patterns that recognize what a sentence does: it rules, asks, decides, reports or plans, in English and Chinese.
//!
//! The patterns are few and simple on purpose: a missed one costs a sentence its kind, not its place among the ranked
//! sentences.

use std::ops::Range;
use std::panic::{RefUnwindSafe, UnwindSafe};
use std::sync::LazyLock;

use regex_automata::Input;
use regex_automata::hybrid::dfa::{Cache, DFA};
use regex_automata::meta::{Config, Regex};
use regex_automata::nfa::thompson::{self, WhichCaptures};
use regex_automata::util::pool::Pool;

/// A case-insensitive pattern of which only the presence matters.
pub(in crate::summary) struct Cue(LazyLock<Option<Automaton>>);

impl Cue {
    fn build(pattern: &str) -> Option<Automaton> {
        let nfa = thompson::Config::new().which_captures(WhichCaptures::None);
        let dfa = DFA::builder().thompson(nfa).build(&expand_classes(pattern)).ok()?;
        let for_cache = dfa.clone();
        Some(Automaton { dfa, caches: Pool::new(Box::new(move || for_cache.create_cache())) })
    }

    /// Whether a text matches.
    pub(in crate::summary) fn is_in(&self, text: &str) -> bool {
        self.is_in_lowercase(&text.to_ascii_lowercase())
    }

    /// Whether a text in lower case matches.
    pub(in crate::summary) fn is_in_lowercase(&self, text: &str) -> bool {
        self.0.as_ref().is_some_and(|automaton| automaton.accepts(text))
    }
}

/// A pattern whose position matters, too.
pub(in crate::summary) struct PlacedCue(LazyLock<Option<Regex>>);

impl PlacedCue {
    fn build(pattern: &str) -> Option<Regex> {
        // Finding a literal prefix takes longer than it saves.
        let config = Config::new().auto_prefilter(false);
        Regex::builder().configure(config).build(&expand_classes(pattern)).ok()
    }

    /// Whether a text matches.
    pub(in crate::summary) fn is_in(&self, text: &str) -> bool {
        self.0.as_ref().is_some_and(|pattern| pattern.is_match(&text.to_ascii_lowercase()))
    }

    /// Returns the range of the first match, and that of the first group in it.
    pub(in crate::summary) fn group(&self, text: &str) -> Option<(Range<usize>, Option<Range<usize>>)> {
        let lowercase = text.to_ascii_lowercase();
        // Most texts do not match, which takes less time to find out than the groups.
        let pattern = self.0.as_ref().filter(|pattern| pattern.is_match(&lowercase))?;
        let mut groups = pattern.create_captures();
        pattern.captures(&lowercase, &mut groups);
        let whole = groups.get_group(0)?;
        let first = groups.iter().skip(1).flatten().next();
        Some((whole.range(), first.map(|group| group.range())))
    }

    /// Returns the ranges of all matches in a lower-case text.
    pub(in crate::summary) fn places<'s>(&'s self, small: &'s str) -> impl Iterator<Item = Range<usize>> + 's {
        self.0.iter().flat_map(move |pattern| pattern.find_iter(small).map(|found| found.range()))
    }

    /// Returns the end of the first match; 0 if there is none.
    pub(in crate::summary) fn end(&self, text: &str) -> usize {
        let found = |pattern: &Regex| pattern.find(&text.to_ascii_lowercase()).map(|found| found.end());
        self.0.as_ref().and_then(found).unwrap_or(0)
    }
}

/// An automaton that decides whether a pattern matches, not where. It is built in half the time of a regular
/// expression, and for most histories building takes longer than searching.
struct Automaton {
    dfa: DFA,
    caches: Pool<Cache, Box<dyn Fn() -> Cache + Send + Sync + UnwindSafe + RefUnwindSafe>>,
}

impl Automaton {
    fn accepts(&self, text: &str) -> bool {
        // The search never gives up, since no limit is set.
        let found = self.dfa.try_search_fwd(&mut self.caches.get(), &Input::new(text).earliest(true));
        found.is_ok_and(|found| found.is_some())
    }
}

/// Replaces character classes by ones that are built faster. A lower-case pattern is built faster than one of both
/// cases.
fn expand_classes(pattern: &str) -> String {
    // An ASCII word boundary is found faster than a Unicode one.
    let classes = [(r"\b", r"(?-u:\b)"), (r"\w", WORD)];
    classes.iter().fold(pattern.to_owned(), |pattern, (short, class)| pattern.replace(short, class))
}

/// Letters and digits of any script, with some marks between them. The Unicode class has seven hundred ranges and takes
/// longer to build than all patterns with it.
const WORD: &str = concat!(
    r"[0-9a-z_\u{aa}\u{b5}\u{ba}\u{c0}-\u{d6}\u{d8}-\u{f6}\u{f8}-\u{1fff}\u{200c}\u{200d}\u{2c00}-\u{2dff}",
    r"\u{3005}-\u{3007}\u{3021}-\u{30fa}\u{30fc}-\u{d7ff}\u{f900}-\u{fdff}\u{fe70}-\u{fefc}",
    r"\u{ff10}-\u{ff19}\u{ff21}-\u{ff3a}\u{ff3f}\u{ff41}-\u{ff5a}\u{ff66}-\u{ffdc}\u{10000}-\u{1efff}\u{20000}-\u{3ffff}]",
);

macro_rules! cues {
    ($($(#[$doc:meta])* $name:ident: $kind:ident = $pattern:expr;)*) => {
        $($(#[$doc])* pub(in crate::summary) static $name: $kind = $kind(LazyLock::new(|| $kind::build($pattern)));)*

        #[cfg(test)]
        const PATTERNS: &[&str] = &[$($pattern),*];
    };
}

cues! {
    /// A standing rule or a limit.
    RULES: Cue = r"\b(?:never|always|must(?:n't)?|only|not? more than|not? later than|do not|don['’]?t|no more than|no less than|at most|at least|up to|make sure|ensure|prefer[a-z]*|avoid|budget|deadline|due (?:by|on)|limit(?:ed)?|cap|maximum|minimum|should(?:n['’]t| not)?|have to|has to|no longer|under no|rather than|instead|strictly|is not (?:ok(?:ay)?|allowed))\b|^(?:please )?(?:keep|leave|stick|use|write|run|name)\b|不要|别|必须|只能|只用|禁止|预算|截止|最多|至少|总是|始终|务必|一律|不得|上限|优先|尽量|不再|改为|改成|换成|不能|不超过";
    /// Something is done.
    DONE: Cue = r"\b(?:fixed|added|implemented|created|updated|removed|completed?|finished|refactored|renamed|moved|committed|pushed|installed|booked|cancel(?:l)?ed|all (?:[a-z0-9]+ )?tests pass[a-z]*|now pass[a-z]*|successfully|has been|have been|resolved|is done)\b|已经|已|完成了|修复了|通过";
    /// Something is still to be done.
    AHEAD: Cue = r"^(?:still )?(?:missing|open|untested|blocked|unfinished|outstanding)(?: (?:point|item|question|issue)s?)?:|\b(?:next|todo|remain(?:s|ing)?|still (?:need|have|to|fail[a-z]*)|let me|let['’]s|i['’]?ll|i will|i need to|i (?:can|could) now|plan to|now i|not yet|pending|what is left|(?:left|still|remains|yet|something|nothing) to do|to-?do:|then (?:i|we)|i (?:begin|start|go on|continue)|after that|follow(?:s|ed)? by|not done|not started|open point)\b|接下来|下一步|待办|还需|尚未|然后我|剩下|还没|没做|未完成";
    /// A summary of another program tells what is going on or still missing.
    GOING_ON: Cue = r"^(?:in progress|pending|todo|to do|remaining|current(?:ly)? (?:work|state|status|task|step)|next steps?)\b[^:：]{0,20}[:：]|^(?:进行中|待办|待完成|当前(?:工作|任务)|下一步)[^:：]{0,8}[:：]";
    /// Something that was begun is not done.
    UNFINISHED: Cue = r"\b(?:needs? to|to be|not yet|n['’]t yet|yet to|still|but)\b|尚未|还没|还需";
    /// A list of steps ahead.
    NEXT_STEPS: Cue = r"\b(?:next|remaining|follow-?up) (?:steps?|tasks?|items?|work)\b|下一步|接下来|剩余";
    /// A line of output that reports how something ended.
    ENDINGS: PlacedCue = r"\b(?:errors?|failed|failures?|passed|exception|panicked|fatal|warnings?|rejected|aborted|conflict|killed|exit (?:code|status)|denied|not found|no such file|cannot|timed out|unbound variable|syntax error)\b|error\[|\w(?:error|exception)\b|(?m:^|[ \t])(?:fail|ok|pass)\s|错误|失败";
    /// A line of output that reports a failure.
    COMPLAINTS: PlacedCue = r"\b(?:invalid|unexpected|undefined|unresolved|unknown|missing|refused|overflow(?:ed)?|exceeded|mismatch|segfault|violat[a-z]+|unreachable|not allowed|does not|is not|can['’]t be|abort)\b|\bexpected:";
    /// A program's words for its exit status; the number is the group that matched.
    STATUS: PlacedCue = r#"<returncode>(-?[0-9]+)|<exit_code>(-?[0-9]+)|\bexit(?:ed)?(?: with)?(?: code| status)[ :=]{1,3}(-?[0-9]+)|"(?:exit_code|exitcode|returncode)"\s*:\s*(-?[0-9]+)|^\[exit ([0-9]+)"#;
    /// A person wants something done, or says what cannot be.
    WISHES: Cue = r"\b(?:please|task|goal|want|wants|need|needs|implement|fix|cannot|can['’]t|help|could you|can you|would like)\b|请|帮我|需要|希望|目标|任务";
    /// The speaker corrects an earlier statement.
    CORRECTS: Cue = r"\b(?:correction|corrected|mis(?:read|typed|took|remembered|spoke)|my (?:mistake|bad|fault)|typo|scratch (?:that|it)|scrap|forget (?:about )?(?:it|that|what|the)|on (?:second thought|reflection)|chang(?:e|ed) of (?:plans?|heart|mind)|chang(?:e|ed) (?:my|his|her|their|our) mind|plans? (?:has |have )?changed|changed(?:[:,.]| to\b)|new plan|after all|no longer|not [a-z' ]{0,24}any ?more|any ?more|(?:from|as of|starting|since|effective) (?:now|today|tonight|tomorrow|this (?:morning|week)|monday|next)|useless|is wrong|was wrong|were wrong|ruled (?:it |that )?out|moves to|moved to|shift(?:ed)? (?:it |that )?(?:to|back)|(?:shift|move|push|pull) (?:the|it|that)\b[^.,;]{0,40}\b(?:to|back|by|until|into|later|earlier)\b|bumped|doubled|halved|sorry for the (?:churn|noise|confusion|mess|trouble|back)|re-?considered|overrul[a-z]+|nope|back to|rather than|instead|exception|un-?(?:mute|freeze|block|pin|do)[a-z]*|decommission[a-z]*|deprecat[a-z]*|discontinu[a-z]*|(?:don['’]?t|do not|stop) (?:use|using) (?:that|this|the|it)|new policy|i was wrong|not .{2,30} but)\b|抱歉|看错|说错|搞错|记错|写错|更正|算了|改[到为成用回]|挪到|换[到成]|调到|调整|不再|放宽|推迟|提前|离职|作废|取消|统一|撞车|最后一次|还是|才对|原来说";
    /// A decision or an event is reported.
    REPORTS: Cue = r"\b(?:decided|decision|decides|wants|asks? for|asked (?:for|us|me)|insists?|requires?|announced|approved|agreed|confirmed|told (?:me|us)|called|replied|talk(?:ed|ing) to|spoke (?:to|with)|accepts?|allows?|won['’]t allow|is gone|are gone|wrote (?:again|back|me)|came back|heard (?:back|from)|left (?:the (?:company|team|project)|us)|gets? (?:switched off|shut down|archived|removed|retired|dropped|replaced|deprecated)|(?:is|are) (?:being |getting )?(?:retired|archived|phased out|shut down|switched off|ready)|got (?:pushed|moved|changed|postponed|bumped|promoted|switched)|becomes?|became|joins?|joined|good news|bad news|cut (?:it|them|that) down|after the [a-z ]{0,24}(?:meeting|call|review|discussion|vote)|policy|in the meantime|meanwhile|by now)\b|定了|决定|更正|离职|要关|关了|要求|通知|来电|来信|回复|好了|就绪|批了|签字|说";
    /// Somebody is restricted.
    RESTRICTS: Cue = r"\b(?:never|not|n['’]t|don['’]?t|avoid|without|stop|no|hands off|off[- ]limits|taboo|leave .{2,60} (?:alone|as (?:it|they) (?:is|are))|stay (?:away|out|off)|keep (?:away|out|off)|only after|untouched|frozen|forbidden|banned)\b|不要|别|禁止|不得|不能|不再|不许|不准|不用|冻结";
    /// An earlier statement no longer holds.
    CHANGES: Cue = r"\b(?:instead|actually|chang(?:e|ed|ing)|no longer|any ?more|rather|make (?:that|it|this)|now|moved?|raised?|lower(?:ed)?|bump(?:ed)?|increas[a-z]+|decreas[a-z]+|reduc[a-z]+|extend[a-z]*|postpone[a-z]*|switch(?:ed)?|replac[a-z]+|updat[a-z]+|correction|on second thought|scratch that|forget|new|revis[a-z]+|set (?:it|that) to|after all|from now on|came back|headroom|back to|took over|renamed|too (?:short|long|low|high|small|big|slow|strict|tight|little)|not [^.!?]{1,40} but|wait)\b|改为|改成|改用|换成|换用|不再|更正|现在|调整|推迟|提前|改到|而不是|算了|变成|增加到|减少到|提高到|降到|回复了|来电|太短|太长|太少|可以改了|了[。，！]|了$|再";
    /// A statement of what holds, or a limit.
    STATES: Cue = r"^(?:the|our|my|its|their|his|her|this|that|each|every|all)\b|\b(?:is|are|was|were|(?:will|must|should|shall|can|may|to|can['’]t|cannot) be|has|stays?|remains?|at most|at least|(?:more|less|fewer|later|earlier) than|up to|under|below|above|within|maximum|minimum|max|min)\b|(?:: |= ?)[$€£]?[0-9]|是|为|最多|至少|不超过|以内|上限|预算|截止";
    /// The opening of a sentence that moves to another subject and changes nothing.
    GOES_ON: PlacedCue = r"^(?:(?:and|but|so|then|ok(?:ay)?|well)\b,? )*now\b,? ";
    /// The opening of a sentence about the subject of the one before.
    REFERS: Cue = r"^(?:they|it|these|those|this|that|he|she)\b";
    /// The opening of a sentence that needs the one before it.
    LEANS: Cue = r"^(?:so|then|therefore|hence|which|instead|otherwise|both|neither|the (?:former|latter)|because|that is why|but)\b|^(?:所以|因此|否则|但是|这样|它)";
    /// A reference to the statement before, without a name.
    THAT: Cue = r"\b(?:make (?:that|it|this)|set (?:that|it)|change (?:that|it)|(?:that|it) (?:is|should be|must be) (?:now )?|let['’]s say|raise (?:it|that)|lower (?:it|that)|move (?:it|that))\b|^(?:no|actually|wait|sorry|correction)\b|改为|改成|换成|变成|改到";
    /// The name of what no longer holds: after `instead of`, `rather than`, `no longer`, `not … but`, `from … to`.
    FORMER: PlacedCue = r"\b(?:instead of|rather than|no longer|stop using|drop|replace|forget(?: about)?)\s+(?:use |using |the )?([\w./-]+(?: [\w./-]+)?)(?:\s+(?:but|with|for|in|as|on|any ?more)\b|[,.;!]|$)|\bnot\s+(?:use |using |the )?([\w./-]+(?: [\w./-]+)?)\s+(?:but|any ?more)\b|\bfrom\s+([\w./$-]+(?: [\w./-]+)?)\s+(?:to|into)\b|(?:不再(?:使用|用)?|而不是|不用|从)([^，。；,.;到改]{1,12})";
    /// A choice among things of a kind.
    CHOICES: PlacedCue = r"\b(?:use|using|go with|going with|choose|chose|pick|try|prefer|stick (?:to|with)|switch(?:ed)? to|write (?:it )?in|target|deploy (?:to|on)|book|take)\s+(?:the )?([\w./+-]+(?: [\w./+-]+)??)(?:\s+(?:instead|rather|for|to|in|as|on|with|because|so|now|here|from|by|when|and)\b|[,.;!-]|$)|(?:使用|采用|改用|换成|选择|用)([^，。；,.;来做]{1,10})";
    /// A prohibition.
    FORBIDS: Cue = r"\b(?:never|not|n['’]t|don['’]?t|avoid|no longer|without|stop|no)\b|不要|别|禁止|不得|不能|不再";
    /// The model announces or offers something.
    TALK: Cue = r"^(?:now,? |first,? |next,? |then,? |so |but )*(?:let me|i['’]ll|i will|let['’]s|i need to|i should|i can |if you|please (?:let|confirm|provide)|could you|would you|how can i)\b|^(?:让我|我来|我将|请问)";
    /// The model announces what the same sentence gives.
    RECAPS: Cue = r"^(?:now,? |so |ok(?:ay)?,? |finally,? )*(?:let me|let['’]s|i['’]ll|i will)(?: (?:now|also|just|briefly|quickly|first))* (?:summari[sz]e|recap|sum up|wrap up|review what|list what|go over what)\b[^:]*:.|^(?:让我|我来)?(?:总结|概括|回顾)[^:：]*[:：].";
    /// A thought that settles nothing.
    GUESSES: Cue = r"\b(?:wait|hmm+|scratch that|let me (?:think|see)|maybe|perhaps|alternatively|not sure|likely|probably|possibly|presumably|supposedly|appears?|seems?|might|may|could|would|i (?:think|guess|suspect|assume|believe|suppose|wonder|hope|doubt)|suppose|assum(?:e|es|ing)|in theory|theoretically|hypothes[ie]s|what if|if any|if at all|unclear)\b|^if\b|等等|也许|可能|似乎|大概|我猜|我觉得|如果|假设|估计|看起来|好像";
    /// The model changes its mind in thought.
    RECONSIDERS: Cue = r"^(?:oh,? |but |hmm+[,.]? |ok(?:ay)?,? )*(?:wait|actually|no\b|hold on|scratch that|on second thought|then again|neither\b|hmm|let me re-?(?:think|consider|examine|read|count|calculate|compute|check))|等等|不对";
    /// A thought about what the user wants or allows. The user's own words say that.
    ABOUT_USER: Cue = r"\b(?:the|this|our) (?:user|customer|client|caller|guest|patient|person)\b|^(?:[a-z]+,? )?(?:user|(?:the |our )?(?:customer|client|they|he|she)) (?:wants?|wanted|asks?|asked|said|says|needs?|prefers?|would like|told)\b|\b(?:we|you|i) (?:may|can|are allowed|are free)\b|\byou (?:must|should|need|have|will)\b|\b(?:allow(?:s|ed)|permi(?:ts?|tted|ssion)|approv(?:es|ed|al))\b|用户|允许|批准";
    /// A thought about a secret.
    SECRETS: Cue = r"password|passphrase|passwd|secret|credential|(?:api|access|private)[ _-]?key|bearer|密码|密钥";
    /// A thought about what the model is about to do or does.
    INTENDS: Cue = r"\bi(?:['’]m| am) (?:now |also |still |just )*[a-z]+ing\b|\bi (?:also |just |still |now )*(?:plan|want|need|should|could|intend|have) to\b|\bi(?:['’]ll| will| should| could)\b|^(?:now|next),? i\b|\blet me\b|打算|我要|我需要|接下来|让我";
    /// A thought about what the model looks at.
    INVESTIGATES: Cue = r"\bi(?:['’]m| am) (?:now |also |still |currently )*(?:looking|exploring|checking|reviewing|examining|investigating|reading|analy[sz]ing|searching|tracing|inspecting|verifying)\b";
    /// The user does not approve of a plan.
    NOT_APPROVED: Cue = r"\b(?:not (?:yet )?|n['’]t (?:yet )?|dis|un)approved?\b|\breject|\binterrupted\b";
    /// A sentence that is only filler, possibly after the name of the speaker.
    FILLERS: Cue = r"^(?:(?:(?:i (?:know|see|guess(?: so)?|think so|hope so)|me too|u+m+|u+h+|h+m+|oh|aha?|bingo|interesting|well|so|ok(?:ay)?|yeah|yep|yes|no|nope|right|really|sure|exactly|fine|great|good|perfect|wonderful|awesome|hi|hello|hey|there|again|good (?:morning|afternoon|evening)|(?:[a-z]+ )?(?:question|point|catch|idea|call|news|find|work|job)|done|absolutely|certainly|you['’]re (?:absolutely )?right|of course|thanks?|thank you|got it|understood|not at all|you['’]re welcome|(?:can|could|would|will) you (?:please )?(?:help|assist) me(?: out)?(?: with (?:this|that|it|something|just [^.!?]{1,30}))?(?: please)?|how are you(?: doing)?(?: today)?)\b[\s,.!?…-]*)+|#?\w+#?:\s+(?:(?:i (?:know|see|think so)|u+m+|u+h+|h+m+|oh|ah|hi|hello|hey|there|thanks?|thank you|bye)\b[\s,.!?…-]*)+)$";
    /// A permission.
    PERMITS: Cue = r"\b(?:(?:you|we|they|it|part|may|can) (?:can|may)|can now|may now|(?:is|are|was|['’]s|['’]re) (?:now )?(?:fine|ok(?:ay)?|allowed|alright to|all right to)|feel free|free to|freely|exception|go ahead|go for it|no need|need not|needn['’]t|not have to|don['’]?t have to|as (?:often|much|many|long|late|early) as you|whatever you|whenever you|may|can)\b|需要什么|什么都行|随时|可以|允许|不必|不用等|随便|也行|就行|放开";
    /// Words by which one thing becomes another.
    TURNS: Cue = r"\b(?:back to|took over|takes over|taking over|taken over|renam[a-z]+|moved? (?:to|over|the)|went over to|superseded|supersedes|overrul[a-z]+|swapped|from now on|from here on|as of today|new plan|on second thought|scrap that|forget)\b|改名|接手|接替|换回|改回|从现在起|以后";
    /// The name of what no longer holds: something too short, or somebody whose work another took over.
    OVER: PlacedCue = r"\b(?:over from|took over for|in place of|replaces|superseded|supersedes|back from|away from|scrap|ditch|drop|forget(?: about)?)\s+(?:the )?([\w./$-]+)|([\w./$-]+(?: [a-z]{1,8})?) (?:is|was|are|were) (?:too|not enough|out\b|gone|dead|useless|obsolete|wrong|history|off the table)|([^，。；,.;\s]{1,12}?)\s?(?:太[短长大小少多慢]|算了|不够|不行|作废|取消)";
    /// The user rejected a call.
    REJECTS: PlacedCue = r"\b(?:user|human|operator|person|reviewer)\b[^.\n]{0,60}?\b(?:reject[a-z]*|den(?:y|ied|ies)|declin[a-z]+|refus[a-z]+|disapprov[a-z]+|does(?:n['’]t| not) want|did(?:n['’]t| not) (?:want|allow|approve|accept)|said no|cancel[a-z]*|stopped|blocked|vetoed)\b|\b(?:rejected|denied|declined|refused|not approved|vetoed|cancel(?:l)?ed) by (?:the )?(?:user|human|operator|reviewer)\b|用户[^。\n]{0,12}?(?:拒绝|否决|取消|不同意|没有批准|驳回)";
    /// The words before a quotation of the user.
    SAYING: PlacedCue = r"\b(?:the )?(?:user|human|they|he|she|reviewer|operator)?['’]?s? ?(?:said|says|wrote|writes|feedback|reason(?: given)?|comment(?:ed)?|message|instruction(?:s)?|explanation|note|told you|answered|replied)\b[^:：\n]{0,30}[:：]|(?:说|反馈|原因|理由|意见|留言|备注|批注)[^:：\n]{0,6}[:：]";
    /// What a program tells the model after a rejection.
    TOLD_TO_MODELS: Cue = r"\b(?:tool (?:use|call) was|tell you how to proceed|wait for (?:the user|(?:further )?instructions))\b";
    /// A tool failed.
    UNDONE: Cue = r"\b(?:introduced (?:new )?(?:syntax )?errors?|error|failed|failure|cannot|can['’]t|could not|couldn['’]t|unable|denied|not found|not unique|no (?:match[a-z]*|change[s]?|such file|replacement)|does not (?:exist|match)|did not (?:match|apply)|not (?:written|applied|changed|saved)|refused|invalid|conflict)\b|错误|失败|无法|未找到|不存在";
    /// A tool reports that it changed nothing.
    NOTHING_DONE: Cue = r"\b(?:nothing|not|no|never|0|none|without|zero)\b[^.!?\n]{0,24}\b(?:written|wrote|applied|changes?|changed|saved|updated|edited|edits?|modified|replacements?|replaced)\b|\bunchanged\b|stays as it (?:is|was)|未修改|没有(?:修改|改动|写入)|未写入";
    /// A tool succeeded.
    WENT_WELL: Cue = r"\b(?:success[a-z]*|updated|written|wrote|created|saved|applied|edited|replaced|deleted|renamed|moved|done|ok)\b|成功|已";
    /// Something could not be done or explained.
    UNSOLVED: Cue = r"\b(?:could(?:n['’]t| not)|can(?:not|['’]t) (?:tell|explain|reproduce|find|trace|see)|unable to|(?:don['’]t|do not) know why|no idea|unclear|unexplained|not sure why|did(?:n['’]t| not) help|neither .{2,60} nor|no luck|still (?:fails?|red|broken|open|unsolved|happens)|without success)\b|没找到|不知道|查不到|定位不|没解决|原因不明|没搞清|找不到|没用";
    /// The model retracts a statement.
    TAKES_BACK: Cue = r"^correction\b|\b(?:correct myself|i was (?:wrong|mistaken)|i am mistaken|my (?:mistake|earlier [a-z ]{0,20}(?:was|is) wrong)|i (?:mis(?:read|judged|took|stated))|contrary to what i said|i take (?:[a-z ]{1,40} )?back|i (?:retract|withdraw)|i said [^.]{0,40} but)\b|(?:我|前面|刚才|刚刚|上面|之前)(?:我|之前|刚才|前面)?(?:说错|看错|搞错|弄错)|我要更正|收回";
    /// The model finds that something was not it. What else it said of the same names still holds.
    RULES_OUT: Cue = r"\b(?:(?:is|was)(?: not|n['’]t) it\b|did(?:n['’]t| not) (?:help|solve|fix)|(?:that|this|it)(?:['’]s| is| was)(?: not|n['’]t) (?:it|the (?:cause|reason|problem|culprit|issue|bug))|(?:that|this|it) (?:isn|wasn)['’]t (?:it|the (?:cause|reason|problem|culprit|issue|bug))|(?:is|was) not the (?:cause|reason|problem|culprit|issue|bug)|red herring|is innocent|(?:can|could) be ruled out|(?:has|have) nothing to do with)\b|(?:不是|并非)(?:它|这个|原因|问题)|与此无关";
    /// A word that any retraction can have.
    MISTAKES: Cue = r"^(?:mistake[a-z]*|wrong|mis(?:read|judged|took|stated)|correct[a-z]*|said|earlier|contrary|myself|statement|claim[a-z]*)$";
    /// The model states what it takes for granted.
    ASSUMES: Cue = r"\b(?:assum(?:e|es|ed|ing|ption)|presum(?:e|ably|ing)|suppos(?:e|ing|edly)|seems?|appears?|looks? like|probably|likely|apparently|my (?:guess|reading|understanding|impression)|i(?:['’]ll|['’]m)? (?:guess|think|believe|suspect|expect|gather|figure|read|count|counted|understand|understood|take it|treat(?:ing)?|go(?:ing)? (?:with|by)))\b|我(?:按|当|猜|想|认为|以为|觉得|理解)|假设|假定|看来|看起来|似乎|好像|应该是|估计|大概|可能是|推测|默认";
    /// A question that only offers more work.
    OFFERS: Cue = r"\b(?:(?:any|some)(?:thing|one) (?:else|more)|what(?:['’]?s| is| comes)? (?:next|else|now)|how (?:can|may) i (?:help|assist)|help you with|(?:shall|should|can|may|want me to|like me to) (?:i )?(?:go on|continue|proceed|start|begin))\b|还有(?:什么|别的|其他)|还需要|继续吗|可以帮";
    /// A yes-or-no question.
    YES_OR_NO: Cue = r"^(?:(?:so|and|ok(?:ay)?|then|or|also)\b[, ]*)*(?:shall|should|can|may|could|do|does|did|is|are|was|would|will|want|have|has|interested|makes? sense|sounds? good|what do you think)\b|吗[？?]$|要不要|是否";
    /// The opening of a message that turns to another matter.
    ANOTHER_MATTER: Cue = r"^(?:(?:ok(?:ay)?|and|so|great|thanks|well|alright)\b[,. ]*)*(?:now|next|then|also|btw|by the way|another|one more|new|separately|meanwhile)\b|^(?:现在|接下来|另外|对了|然后|顺便|还有)";
    /// The user contradicts what the model said last, by a pronoun.
    CONTRADICTS: Cue = r"^(?:it|that|this|they|those|these)(?:['’]s|['’]re| is| are| was| were| do| does| did| has| have| had| can| will| would)?(?:n['’]t| not)\s*(?:[,;:.!–—]|$|true\b|so\b|right\b|the case\b)|^(?:并非|并不|不[^，。！!？?]{1,4}[！!，。])";
    /// The model announces a step.
    PLANS: Cue = r"^(?:(?:so|then|now|first)\b,? )*(?:the )?(?:next|plan)\b|\b(?:i['’]?ll|i will|i['’]?m (?:going|about) to|i (?:plan|intend|want) to|i['’]?d (?:rather |like to )?|let me|let['’]s)\b|计划|打算|接下来|下一步|我将|我会|我准备|我要|我先";
    /// The user refuses something.
    REFUSES: Cue = r"^(?:(?:no|nope|wait|please|hey|but|ok(?:ay)?|sorry|hold on|thanks)\b[\s,.!–—-]*)*(?:don['’]?t|do not|no need|there['’]?s no need|i don['’]?t want|rather not|leave .{2,40} alone)\b|^no [a-z-]+(?: [a-z-]+)?(?:,|\.| please)|^(?:先?别|不要|不用|不必|不需要|别急|不许|先不)";
    /// The user has nothing against something.
    HAS_NO_OBJECTION: Cue = r"^no (?:problem|worr[a-z]+|doubt|rush|hurry|objection[a-z]*|wonder|idea|issue[a-z]*|stress|pressure)\b";
    /// The user thanks, or confirms what was proposed.
    CONFIRMS: Cue = r"\b(?:proceed|i confirm|confirmed|thanks|thank you|that works|works for me|sounds good|i(?:['’]m| am) (?:fine|ok(?:ay)?|happy) with)\b|谢谢|就这样";
    /// The user lets the model do what was proposed.
    GO_AHEAD: Cue = r"\b(?:go ahead|go for it|do (?:it|that|so))\b|没问题|同意|继续";
    /// Something that was fixed no longer is.
    RELAPSES: Cue = r"\b(?:(?:is|are|came|comes) back|returned|reappear[a-z]*|recur[a-z]*|only hid|not fixed|wasn['’]t fixed)\b|又(?:出现|来|坏|报|失败)|复发|重现|没修好";
    /// A question that asks for something to be done.
    ASKS_FAVOR: Cue = r"^(?:(?:please|and|also|so|then|ok(?:ay)?|hey|hi)\b,? )*(?:could|would|can|will|may|might|should)\b|\bplease\b|能不能|能否|可以|麻烦|请";
    /// A sentence that negates something.
    NEGATES: Cue = r"\b(?:never|not|no|cannot|neither|nor|[a-z]+n['’]t)\b|不|没|无法|别";
    /// Something was measured once more.
    MEASURES_AGAIN: Cue = r"\b(?:re-?(?:count|measur|check|ran|run|calculat|test)[a-z]*|correct(?:ed|ion))\b|重新|重测|重跑|再测|再跑|更正";
    /// A word by which one thing is told from another of its kind.
    TELLS_APART: Cue = r"\b(?:first|second|third|last|next|other|another|old|new|with|without|before|after)\b|第|另|前|后";
    /// The user speaks of what the model said or assumed.
    YOUR_CLAIM: Cue = r"\b(?:your (?:assumption|guess|theory|claim|statement|idea)|you (?:assumed|guessed|claimed|said|wrote|wrongly))\b|你(?:之前|刚才|前面)?(?:说|猜|假设|以为)";
    /// The user agrees with the model.
    AGREES: Cue = r"^(?:(?:oh|ah|hm+|so|well)[, ]+)?(?:yes|yep|yeah|yup|correct|right|agreed?|exactly|true|indeed|good|great|fine|nice|perfect|ok(?:ay)?|sure|thanks?|thank you)\b|^(?:对|是的|没错|好|可以|嗯|同意|谢谢)";
    /// A sentence about another thing, or one more.
    ANOTHER: Cue = r"\b(?:other|another|second|too|also|as well|more)\b|另|也";
    /// A sentence that adds something and changes nothing.
    ADDS: Cue = r"\b(?:one more (?:rule|thing|point|task|request|wish|question)|another (?:rule|thing|point|task|request|wish|question)|also|in addition|additionally|besides|moreover|furthermore)\b|另外|此外|还有";
    /// The user's request in Chinese, whose verbs are not recognized by their place.
    ASKS_FOR: Cue = r"请|把|帮|修|加|删|写|跑|清|改|用|做|给";
    /// The user calls the model's statement wrong.
    DENIES: Cue = r"^(?:(?:haha|h+m+|ok(?:ay)?|nice|cool|yep|hey|well|so|ah+|oh|u+m+|ty|thx|thanks|sorry|wait|great|alright|fine)\b[\s,.!…-]*)*(?:no(?:[,.!:;]| it| that)|nope\b|nah\b|not (?:quite|really|true|it\b)|wrong\b|incorrect|that['’]?s (?:not|wrong)|that is (?:not|wrong)|you['’]re wrong|disagree)|^(?:(?:嗯+|好的?|哦|ok)[，。！,\s]*)*(?:不是|不对|错了|不，|并不是)";
    /// The model chose, or ruled something out.
    CHOOSES: Cue = r"\b(?:decid[a-z]+|chose|chosen|choos(?:e|ing)|going with|go(?:es)? with|went with|opt(?:ed)? for|settled? (?:on|for)|instead of|rather than|reject[a-z]*|rul(?:ed?|ing) (?:it |this |that )?out|(?:is|are) out\b|discard[a-z]*|dismiss[a-z]*|not worth|drawback|downside|trade-?off|my pick|i(?:['’]d| would) (?:take|pick|use|choose|go|prefer)|prefer[a-z]*|recommend[a-z]*|agreed|we (?:take|use|keep|stay)|stick(?:ing)? (?:to|with)|the (?:first|second|third|last|other) (?:option|way|approach|one)|option [0-9a-c]\b|either)\b|决定|选择|采用|倾向|放弃|否决|不用|而不是|方案|优点|缺点|两种|推荐";
    /// A reason or a finding is given.
    REASONS: Cue = r"\b(?:because|since|root cause|the (?:cause|reason|culprit|problem|issue|bug|fix|trick)|caus(?:ed|es)|comes? from|came from|due to|turns? out|turned out|so that|that is why|which is why|explains?|solved by|fixed by|is fixed|was fixed|found (?:that|out)|means that|belongs? to|needs?|must|has to|have to|the wrong)\b|原因|因为|由于|来自|导致|其实|发现|已修|修好|属于|必须|需要|要先";
    /// Something is explained by its cause.
    EXPLAINS: Cue = r"\b(?:because|caused? (?:by|of)|the (?:root |real )?(?:cause|reason)|due to)\b|因为|由于|原因";
    /// The cause of a problem is found.
    CAUSE: Cue = r"\b(?:root cause|(?:there['’]s|here['’]s|that['’]s|that is|found|see|is|was|identified|spotted) (?:the|a|an|my|our) (?:[a-z]+ )?(?:problem|issue|bug|culprit|cause|reason)|the (?:[a-z]+ )?(?:problem|issue|bug|culprit|cause|reason|fix) (?:is|was|here|seems|lies|ensures)|turns out|this is because|that['’]s why)\b|原因是|根因|问题在于|问题出在|原来是";
    /// The user is told what to run or to look at.
    INSTRUCTS: Cue = r"^(?:(?:now|then|so|please|you can|just)\b,? )*(?:run|re-?run|test|try|restart|compare|look at|check out|click|visit)\b";
    /// The heading of a conclusion.
    CONCLUSION: Cue = r"\b(?:tl;?dr|verdict|conclusions?|summary|bottom line|recommendations?|takeaways?|answer|root cause|decision)\b|结论|总结|小结|建议|根因";
    /// The opening of a conclusion.
    CONCLUDES: Cue = r"^(?:so,? )?(?:tl;?dr|bottom line|in short|in summary|to (?:summari[sz]e|sum up)|in conclusion|overall|all in all|long story short|the (?:verdict|upshot|bottom line))\b|^(?:总之|综上|总的来说|简而言之|结论)";
    /// The status of something.
    STATUS_WORDS: Cue = r"\b(?:done|finished|complete[a-z]*|works?|working|passes|passing|pass|green|fixed|solved|resolved|implemented|merged|deployed|not (?:yet|done|started|solved|working|fixed|finished)|unsolved|unfinished|still|left|remain[a-z]*|missing|blocked|broken|fails?|failing|half|so far|skipped|reverted|covered)\b|完成|通过|已|还没|没有解决|未|失败|剩下|仍|没做|做了";
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_patterns_are_patterns() {
        for pattern in PATTERNS {
            assert!(Cue::build(pattern).is_some() && PlacedCue::build(pattern).is_some(), "{pattern}");
            assert!(!pattern.contains(|c: char| c.is_ascii_uppercase()), "no text has capitals: {pattern}");
        }
    }

    #[test]
    fn a_cue_is_in_a_text_where_it_has_a_place() {
        let texts = [
            "Never touch it, thanks!",
            "i do not know. 请用 redis instead of memcached",
            "error: exit status 3\nFAIL\n\"exitCode\": 1",
            "Um, ok. Now let me look at Ольга's файл, 改成700",
            "thank you so much, that is all",
            "",
            "\u{fffd}…—",
        ];
        for pattern in PATTERNS {
            let (automaton, regex) = (Cue::build(pattern).expect("built"), PlacedCue::build(pattern).expect("built"));
            for text in texts.map(str::to_ascii_lowercase) {
                assert_eq!(automaton.accepts(&text), regex.is_match(&text), "{pattern} in {text}");
            }
        }
    }

    #[test]
    fn words_of_any_script_in_any_letters() {
        assert!(RULES.is_in("NEVER touch it.") && ENDINGS.is_in("a TypeError") && STATUS.is_in(r#""exitCode": 3"#));
        let chosen = |text: &str| CHOICES.group(text).and_then(|(_, name)| Some(text[name?].to_owned()));
        let names = [
            "postgres",
            "Café",
            "Ærø",
            "Ольга",
            "محمد",
            "שלום",
            "नमस्ते",
            "佐々木",
            "代々木",
            "〇一",
            "ジョン",
            "ｻｲﾄｳ",
            "ＰＧ",
            "한국어",
            "𝐀𝐁",
            "𠮷野",
            "a_b-c.d/e",
        ];
        for name in names {
            for space in [" ", "\u{a0}", "\u{202f}", "\u{3000}", "\u{2028}"] {
                let text = format!("Use {name}{space}instead.");
                assert_eq!(chosen(&text).as_deref(), Some(name), "{text}");
            }
        }
    }

    #[test]
    fn cues_in_two_languages() {
        assert!(RULES.is_in("Never touch the migrations.") && RULES.is_in("预算最多500元"));
        assert!(WISHES.is_in("Could you look?") && WISHES.is_in("请修复"));
        assert!(!RULES.is_in("The weather is fine today") || RULES.is_in("is fine"));
        assert!(CHANGES.is_in("make that 700") && CHANGES.is_in("改成700"));
    }
}
