//! Everyday matters and the words for them: `dark blue` and `orange` are both colors, so that one decision can change
//! the other though they share no word.
//!
//! A word can belong to several matters. Chinese words are pairs of characters, as comparisons see them.

use std::borrow::Cow;
use std::collections::HashMap;
use std::sync::LazyLock;

use foldhash::fast::RandomState;

use crate::summary::record::change::words::stem;

/// The number of a matter: its line in the table.
pub(super) type Matter = u8;

/// Returns the matters that the stem of a word belongs to.
pub(super) fn matters_of(stem: &str) -> &'static [Matter] {
    static OF_WORD: LazyLock<HashMap<Cow<'static, str>, Vec<Matter>, RandomState>> = LazyLock::new(read_table);
    OF_WORD.get(stem).map_or(&[], Vec::as_slice)
}

fn read_table() -> HashMap<Cow<'static, str>, Vec<Matter>, RandomState> {
    let mut of_word: HashMap<Cow<'static, str>, Vec<Matter>, RandomState> = HashMap::default();
    for (matter, words) in (0..).zip(MATTERS) {
        for word in words.split_whitespace() {
            let matters = of_word.entry(stem(word)).or_default();
            if !matters.contains(&matter) {
                matters.push(matter);
            }
        }
    }
    of_word
}

/// A matter a line.
const MATTERS: &[&str] = &[
    // How things look.
    "color colour colors hue shade tint palette red orange yellow green blue purple violet pink brown black white grey gray beige teal cyan magenta navy maroon crimson bordeaux burgundy turquoise indigo gold silver olive coral lime 颜色 配色 红色 橙色 黄色 绿色 蓝色 紫色 粉色 棕色 黑色 白色 灰色 深蓝 浅蓝 深红 深绿 金色 银色 青色 黑字 白字 浅底 深底 白底 黑底",
    "dark light theme night contrast 深色 浅色 主题 夜间 暗色 亮色 look 浅底 黑字 深底 白字 白底 黑底",
    "font typeface serif sans bold italic typography monospace 字体 字号 加粗 斜体 宋体 黑体 衬线",
    "portrait landscape vertical horizontal orientation upright 横屏 竖屏 横向 纵向 横版 竖版 竖排 横排",
    "center centre centered top bottom middle corner align aligned alignment 左边 右边 居中 顶部 底部 左侧 右侧 左上 右上 左下 右下 对齐",
    "column columns layout single-column two-column 分栏 单栏 双栏 三栏 两栏 排版 网格",
    "modal dialog popup pop-up drawer sidebar dropdown toast banner overlay 弹窗 抽屉 侧栏 下拉 菜单 按钮 浮层",
    "animation animate animated fade static 动画 动效 静态 过渡",
    "icon icons emoji emojis symbol pictogram 图标 表情 符号",
    "chart charts plot graph pie scatter histogram boxplot heatmap diagram 图表 柱状 折线 饼图 散点 条形",
    "axis log logarithmic linear 坐标 对数 线性 刻度",
    "title caption heading headline wording slogan 标题 题目 叫作 文案 标签 名称 名字 起名",
    // How text is written.
    "bullet bullets bullet-points paragraph paragraphs prose numbered outline markdown 列表 要点 表格 段落 正文 分点 分段 条目 编号",
    "detail details detailed thorough verbose elaborate lengthy brief briefly concise terse one-liner one-liners compact in-depth exhaustive summary 详细 详尽 简短 简洁 精简 简单 句话 展开 概括 啰嗦 篇幅 sentence 解释 废话 长篇 一句 一两",
    "formal informal casual friendly polite stern serious playful humorous humor tone voice chatty professional warm neutral 正式 口语 轻松 幽默 语气 严肃 随意 客气 活泼 专业 friendlier relaxed stiff sir madam nickname 口气 亲切 俏皮 死板",
    "uppercase lowercase upper-case lower-case upper lower capital capitals caps capitalize capitalise capitalized case camelcase snake_case kebab-case pascalcase camel snake kebab 大写 小写 驼峰 下划",
    "english german french spanish italian portuguese dutch polish chinese japanese korean russian turkish arabic swedish translate bilingual 中文 英文 英语 德语 法语 日语 日文 韩语 双语 语言 母语 语种",
    "british american spelling ueb 英式 美式 拼写",
    "citation citations cite footnote footnotes endnote endnotes bibliography bibtex biber author-year apa chicago mla ieee 引用 脚注 尾注 文献 参考",
    "quote quotes quotation single-quotes double-quotes apostrophe 引号 单引 双引",
    "indent indentation tabs spaces 缩进 空格 制表",
    "dear hello hi regards greeting salutation surname sie du 称呼 敬称 问候 落款 您好 大家",
    "comments docstring docstrings javadoc 注释",
    "template slides deck powerpoint keynote handout poster leaflet brochure booklet 模板 幻灯 海报 册子 讲义",
    // Units and notations.
    "metric imperial celsius fahrenheit kelvin kilometers kilometres km miles mile inches inch centimeters feet pounds kilograms kg lb 公里 英里 摄氏 华氏 厘米 英寸 公制 英制 公斤",
    "dollars dollar euros euro yen currency usd eur gbp cny rmb 美元 欧元 英镑 日元 货币 币种",
    "decimal decimals rounding round rounded precision integer integers cents fraction truncate 小数 取整 四舍 五入 精度 整数",
    "iso format iso-8601 yyyy-mm-dd timestamp timestamps epoch unix 格式 时间戳",
    "utc timezone time-zone gmt cet 时区 本地 当地",
    "24-hour 12-hour am pm clock 小时 制的",
    "mean median average mode percentile quantile 平均 均值 中位 位数 众数",
    "significance p-value alpha confidence interval bayesian frequentist 显著 置信",
    "uuid uuids ulid id ids sequential auto-increment numbering serial 编号 自增 序号 流水",
    "semver versioning c89 c99 c11 c17 c++11 c++14 c++17 c++20 c++23 es5 es6 es2020 python2 python3 版本 标准 c90",
    "csv json jsonl yaml yml xml toml xlsx excel parquet avro protobuf tsv ini spreadsheet 导出 表格",
    "pdf docx html epub latex markdown odt docs",
    "png jpg jpeg svg webp gif avif bmp tiff 图片 位图 矢量",
    "mp3 wav flac ogg aac audio music sound mute silent volume 音乐 声音 音效 静音 音量 配乐",
    "mp4 resolution 720p 1080p 4k fps framerate subtitle subtitles captions video 分辨 字幕 帧率 视频",
    // Order, number, time.
    "sort sorted sorting ascending descending newest oldest latest earliest alphabetical alphabetically alphabet chronological chronologically sequence top bottom 排序 升序 降序 倒序 正序 最新 最早 最旧 最上 最下 顺序 字母 排在 第一 最后 新的 旧的",
    "hourly daily nightly weekly biweekly fortnightly monthly quarterly yearly annually 每天 每周 每月 每年 每小 每晚 每季 每日 overnight weekday weekdays 一次 night nights",
    "deadline due deliver delivery delivered launch release ship hurry rush urgent urgently asap eod eow tomorrow tonight noon midnight 截止 交付 上线 发布 着急 不急 月底 月初 周末 季度 明天 今晚 年底 期限 日期 交稿 shipping launched postponed 中旬 上旬 下旬 交货 提交 完工",
    "morning afternoon evening noon lunchtime night 上午 下午 早上 晚上 中午 傍晚",
    "parallel parallelize concurrent concurrently concurrency sequential sequentially serial threads thread workers worker async asynchronous sync synchronous 并行 串行 并发 线程 异步 同步 进程",
    "replica replicas instance instances pod pods autoscale autoscaler shard shards 副本 实例 节点 扩容 缩容 分片 scaled",
    "retry retries attempt attempts backoff 重试 次数",
    "timeout timeouts 超时 等待",
    "batch batches chunk chunks streaming stream bulk 批量 逐条 分批 流式",
    "pagination paginate paging page-size infinite scroll scrolling load-more 分页 翻页 滚动",
    "seats guests attendees participants persons headcount capacity 人数 名额 座位 参会 来宾",
    // People and channels.
    "ask contact consult owner owns owned responsible business approve approves approval approver sign-off signoff reviewer reviewers reviews maintainer belongs assign assigned assignee supervise 负责 联系 审批 确认 签字 签名 归口 有事 疑问 问她 问他 对接 找她 找他 把关 decide 问我 找我 决定 点头 拍板 自己 turn check checking",
    "email emails e-mail mail mails slack teams phone sms letter whatsapp telegram signal fax discord 邮件 电话 微信 钉钉 飞书 短信 群里 来信 letters mailing newsletter inform 通知 消息 来电",
    "meeting meet online remote remotely onsite on-site zoom video-call in-person office room venue hall 会议 线上 线下 现场 远程 会场 办公 地点 场地 workshop location 食堂",
    "first-person third-person passive active pronoun 第一 第三 人称",
    "anonymous anonymize anonymise anonymized pseudonym pseudonyms initials real-name real-names full-name redact 匿名 实名 真名 化名 脱敏",
    "public private internal confidential secret visible hidden publish 公开 私有 内部 保密 隐藏 对外 everybody everyone 内测 外人",
    "male female narrator speaker 男声 女声 旁白",
    "beginner beginners novice advanced expert experts intermediate audience 初级 高级 入门 新手 专家 读者",
    "easy normal difficulty difficult 难度 简单 困难 容易",
    // Money and goods.
    "price prices cost costs paid charge fee fees discount refund refunds unpaid overdue subscription surcharge 价格 费用 免费 收费 折扣 退款 欠费 缴费 付费 打折",
    "budget spend spending money funds 预算 花费 经费",
    "ads ad advert adverts advertising advertisement advertisements banner sponsor sponsors sponsored ad-free 广告 赞助",
    "invoice paypal stripe cash bank transfer payment payments installment installments 支付 发票 转账 现金 刷卡 付款 分期",
    "vat tax taxes net gross 含税 税率 税后 税前",
    "courier dhl ups fedex pickup shipping shipped collect 快递 自提 物流 邮寄 配送",
    "supplier suppliers vendor vendors buy purchase buying provider manufacturer 供应 采购 厂家 供货 进货 购买 order",
    "paper grams gram gsm glossy matte recycled cardboard a4 a5 envelope print printed 纸张 铜版 印刷 打印 克纸 哑光",
    "train flight flights fly plane bus car drive taxi bike ferry travel 火车 高铁 飞机 航班 大巴 打车 自驾 坐车",
    "hotel hostel apartment airbnb accommodation stay 酒店 民宿 住宿 旅馆",
    "vegetarian vegan meat lunch dinner breakfast catering buffet 素食 荤菜 午餐 晚餐 自助 餐饮 盒饭 halal kosher gluten-free 清真 吃饭 素餐 点餐",
    // Programs and their parts.
    "python rust go golang java kotlin swift typescript javascript ruby php perl scala c# c++ elixir haskell lua bash powershell 语言",
    "postgres postgresql mysql sqlite mariadb mongodb mongo dynamodb oracle cassandra duckdb database db clickhouse 数据",
    "react vue svelte angular solid htmx jquery tailwind bootstrap css scss 前端 样式",
    "django flask fastapi express spring rails laravel actix axum gin",
    "pytest unittest jest vitest mocha junit nose cypress playwright selenium",
    "npm yarn pnpm bun pip poetry uv conda cargo maven gradle homebrew apt",
    "eslint prettier ruff black flake8 pylint clippy rustfmt lint linter formatter biome",
    "kafka rabbitmq sqs nats pubsub queue queues celery redis cron scheduler 队列 定时",
    "grpc rest graphql soap websocket websockets polling sse webhook webhooks mqtt https 轮询 推送 长连",
    "i2c spi uart can modbus serial usb ethernet bluetooth wifi lora zigbee 串口 蓝牙 总线",
    "stm32 esp32 arduino raspberry rp2040 nrf52 chip mcu microcontroller board firmware 芯片 板子 单片",
    "battery mains solar power powered rechargeable 电池 供电 充电 省电",
    "password passwords passkey passkeys login sso oauth token tokens session sessions cookie cookies jwt certificate authentication auth 密码 登录 令牌 验证 会话 登陆 account accounts 账号 账户 帐号 注册 邮箱",
    "env .env environment vault secret secrets hardcode hardcoded keychain 环境 变量 密钥 写死",
    "logging logger debug verbose quiet trace warn 日志 打印 调试 warnings warning level 级别",
    "throw throws raise raises exception exceptions panic ignore swallow abort crash 报错 抛出 异常 忽略 跳过 中断 拒绝",
    "blank empty missing null none nil nan absent unset undefined unknown skipped 空值 空着 缺失 为空 空白 没填 缺省",
    "outlier outliers winsorize clip 异常 剔除 保留 去掉 sigma",
    "sample sampling subset random randomly entire 抽样 全量 随机 部分 整个",
    "train training validation validate test split fold folds holdout cross-validation 训练 验证 划分 折交",
    "adam sgd adamw optimizer learning-rate epochs epoch batch-size 学习 优化 轮次",
    "schema schemas migration migrations ddl 改表 表结 数据库 结构 迁移",
    "cache cached caching ttl memoize memoization 缓存",
    "backup backups snapshot snapshots archive archived retention retain purge erase 备份 归档 删除 清理 留存 快照 temp temporary leftovers 临时 留着",
    "undo undone revert reverse reversing rollback roll-back restore redo irreversible 撤销 回退 还原 恢复 回滚 反悔",
    "autosave checkpoint checkpoints slot slots 存档",
    "parser grammar recursive descent pratt yacc antlr peg lalr bison lexer regex 语法 解析 正则",
    "monolith monorepo microservice microservices modular 单体 微服 仓库 拆分",
    "prefix suffix filename filenames naming 前缀 后缀 命名 文件",
    // How work is done.
    "commit commits committing squash rebase merge merged fixup amend cherry-pick git check-in gitignore 提交 合并 变基 版本 入库 squashed separate version",
    "branch branches master develop trunk feature-branch push pushing fork 分支 主干 推送 topic main",
    "pr pull-request pull-requests review reviewed self-merge patch 评审 合并 审查",
    "staging production prod canary rollout 生产 预发 线上 灰度",
    "cluster laptop workstation locally local remote cloud aws gcp azure on-prem kubernetes k8s vm bare-metal 集群 本地 云上 机房 容器 电脑 本机 desktop 作站",
    "dependency dependencies library libraries third-party vendored stdlib builtin built-in handwritten hand-written 依赖 第三 标准 手写 自己",
    "unit integration end-to-end e2e manual manually coverage mock mocks mocking fixture fixtures 测试 单测 覆盖 手工 集成",
    "ci pipeline jenkins gitlab circleci github 流水",
    "license licence mit apache gpl lgpl bsd agpl proprietary open-source 许可 开源 协议",
    "ios android windows linux macos mobile desktop tablet ipad 安卓 苹果 手机 桌面 平板 网页",
    "chrome firefox safari edge browser browsers 浏览",
    "keyboard mouse gamepad controller joystick touch touchscreen swipe tap click gesture 键盘 手柄 触屏 鼠标 手势 点击",
    "camera perspective top-down isometric first-person third-person 2d 3d 视角 俯视 镜头",
    "scope mvp milestone phase leave-out out-of-scope 范围 先不 一期 二期 这期",
    "blocker critical severity priority urgent p0 p1 p2 优先 严重 级别",
    "alert alerts alerting pager pagerduty notify notification notifications reminder reminders 告警 通知 提醒 报警",
    "diff diffs refactor refactors refactoring rewrite minimal tiny invasive sweeping patch 重构 重写 改动 小改 大改",
    "vim emacs vscode intellij editor keybindings 编辑",
    "mock mocked fake dummy synthetic invented anonymized simulated 模拟 真实 假的 样本 造的",
    "wall-clock cpu clock benchmark measure measured measuring 计时 耗时",
    "paper journal conference submit submission manuscript venue proceedings 投稿 期刊 会议 论文",
    "wake wakeup wakeups poll polling interval pager ring 唤醒 间隔",
    "margin margins padding spacing 边距 间距 留白",
    "grade grades graded points marks score scores rubric pass-fail 分数 打分 等级 评分 满分",
    "block blocks blocked ban suspend locked warn reminder 封禁 锁定 停用 提醒 冻结",
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_words_of_a_matter_share_its_number() {
        let share = |one: &str, other: &str| {
            matters_of(&stem(one)).iter().any(|matter| matters_of(&stem(other)).contains(matter))
        };
        for (one, other) in [("blue", "orange"), ("bullets", "paragraphs"), ("横屏", "竖屏"), ("squash", "commits")]
        {
            assert!(share(one, other), "{one}, {other}");
        }
        assert!(!share("blue", "paragraphs"));
        assert!(MATTERS.len() < usize::from(Matter::MAX));
    }
}
