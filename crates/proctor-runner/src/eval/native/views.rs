//! What a text says in another encoding: base64, base32, and dumps of bytes as numbers.
//!
//! Every function here takes time in proportion to its text. What comes out of a text that holds no
//! such encoding is noise, in which nothing will be found.

/// Bytes that are kept or dropped together. Bytes of a wrong alignment are as good as random, and
/// hardly ever text.
const CHUNK: usize = 15;
/// A run of letters and digits that is shorter is no base32.
const LEAST_BASE32_RUN: usize = 8;
/// Digits of the offset at the beginning of a line of a dump.
const OFFSET_DIGITS: std::ops::RangeInclusive<usize> = 6..=8;

/// A text in another reading.
pub(super) struct View {
    pub(super) text: String,
    /// Whether it is a text throughout, so that it may hold another encoding in turn.
    pub(super) is_sound: bool,
}

/// The readings of a text that is not what it seems.
pub(super) fn views(text: &str) -> Vec<View> {
    let mut views = Vec::new();
    let (lines, all) = (base64_of_lines(text), base64_of_all(text));
    if lines != all {
        add_aligned::<6>(&mut views, &lines);
    }
    add_aligned::<6>(&mut views, &all);
    add_aligned::<5>(&mut views, &base32(text));
    for bytes in numbers(text) {
        add(&mut views, &bytes, true);
    }
    views
}

fn add(views: &mut Vec<View>, bytes: &[u8], is_sound: bool) {
    if bytes.len() >= CHUNK {
        let text = String::from_utf8_lossy(bytes).into_owned();
        views.push(View { text, is_sound });
    }
}

/// Reads digits of `WIDTH` bits as bytes from each place at which a byte could begin, and keeps what
/// could be text.
fn add_aligned<const WIDTH: usize>(views: &mut Vec<View>, digits: &[u8]) {
    // In so many digits a whole number of bytes ends.
    let alignments = if WIDTH == 6 { 4 } else { 8 };
    for start in 0..alignments {
        let digits = digits.get(start..).unwrap_or_default();
        let (mut kept, mut chunks) = (Vec::new(), 0);
        for digits in digits.chunks(CHUNK * 8 / WIDTH) {
            chunks += 1;
            let mut chunk = [0_u8; CHUNK];
            let (mut bits, mut held, mut length) = (0_u32, 0, 0);
            for &digit in digits {
                bits = bits << WIDTH | u32::from(digit);
                held += WIDTH;
                if held >= 8
                    && let Some(byte) = chunk.get_mut(length)
                {
                    held -= 8;
                    length += 1;
                    *byte = (bits >> held & 0xff) as u8;
                }
            }
            let chunk = chunk.get(..length).unwrap_or_default();
            if may_be_text(chunk) {
                kept.extend_from_slice(chunk);
            }
        }
        let is_sound = kept.len() >= CHUNK * chunks / 4 * 3;
        add(views, &kept, is_sound);
    }
}

/// Whether bytes could stand in the middle of a text.
fn may_be_text(bytes: &[u8]) -> bool {
    // Every second byte of English in UTF-16 is 0.
    if bytes.iter().any(|b| b.is_ascii_control() && !b"\0\t\n\r".contains(b)) {
        return false;
    }
    // The first and the last character may be cut.
    let cut = bytes.iter().take(3).take_while(|b| matches!(b, 0x80..0xc0)).count();
    match std::str::from_utf8(bytes.get(cut..).unwrap_or_default()) {
        Ok(_) => true,
        Err(error) => error.error_len().is_none(),
    }
}

fn base64_digit(byte: u8) -> Option<u8> {
    Some(match byte {
        b'A'..=b'Z' => byte - b'A',
        b'a'..=b'z' => byte - b'a' + 26,
        b'0'..=b'9' => byte - b'0' + 52,
        b'+' | b'-' => 62,
        b'/' | b'_' => 63,
        _ => return None,
    })
}

/// The digits at the end of each line, whatever numbers or marks stand before them.
fn base64_of_lines(text: &str) -> Vec<u8> {
    let mut digits = Vec::new();
    for line in text.lines() {
        let line = line.trim_end_matches(|c: char| c.is_whitespace() || "$=\"',|".contains(c));
        let bytes = line.as_bytes();
        let length = bytes.iter().rev().take_while(|b| base64_digit(**b).is_some()).count();
        let end = bytes.get(bytes.len() - length..).unwrap_or_default();
        digits.extend(end.iter().copied().filter_map(base64_digit));
    }
    digits
}

/// Every digit, wherever it stands.
fn base64_of_all(text: &str) -> Vec<u8> {
    let mut digits = Vec::with_capacity(text.len());
    let mut bytes = text.bytes();
    while let Some(byte) = bytes.next() {
        if byte == b'\\' {
            // A line break in a string of JSON, say.
            bytes.next();
        }
        digits.extend(base64_digit(byte));
    }
    digits
}

fn base32(text: &str) -> Vec<u8> {
    let digit = |byte: u8| match byte {
        b'A'..=b'Z' => Some(byte - b'A'),
        b'2'..=b'7' => Some(byte - b'2' + 26),
        _ => None,
    };
    let runs = text.as_bytes().split(|byte| digit(*byte).is_none());
    let runs = runs.filter(|run| run.len() >= LEAST_BASE32_RUN);
    runs.flat_map(|run| run.iter().copied().filter_map(digit)).collect()
}

/// The bytes of a dump: in base 16, 8, 10 and 2, and where numbers have several bytes, with the
/// lowest first too.
fn numbers(text: &str) -> [Vec<u8>; 6] {
    let [mut hex, mut hex_low, mut octal, mut octal_low, mut decimal, mut binary] =
        <[Vec<u8>; 6]>::default();
    for line in text.lines().filter(|line| may_be_dump(line)) {
        let words = words(line);
        if words.is_empty() {
            continue;
        }
        let all = |is: &dyn Fn(&&str) -> bool| words.iter().all(is);
        if all(&|word| word.len() % 2 == 0 || word.len() == 1) {
            for word in &words {
                let pair = |at: usize| word.get(at..word.len().min(at + 2));
                let bytes = (0..word.len()).step_by(2).filter_map(pair);
                let bytes: Vec<u8> =
                    bytes.filter_map(|pair| u8::from_str_radix(pair, 16).ok()).collect();
                hex.extend_from_slice(&bytes);
                hex_low.extend(bytes.iter().rev());
            }
        }
        let read = |radix: u32, length: usize, bytes: &mut Vec<u8>| {
            if all(&|word| word.len() == length || radix == 10 && word.len() < length) {
                let values = words.iter().map(|word| u8::from_str_radix(word, radix).ok());
                bytes.extend(values.collect::<Option<Vec<u8>>>().unwrap_or_default());
            }
        };
        read(8, 3, &mut octal);
        read(10, 3, &mut decimal);
        read(2, 8, &mut binary);
        if all(&|word| word.len() == 6) {
            let values = words.iter().map(|word| u16::from_str_radix(word, 8).ok());
            let values = values.collect::<Option<Vec<u16>>>().unwrap_or_default();
            octal_low.extend(values.into_iter().flat_map(u16::to_le_bytes));
        }
    }
    [hex, hex_low, octal, octal_low, decimal, binary]
}

/// Whether a line begins as one of a dump does.
fn may_be_dump(line: &str) -> bool {
    let first = line.bytes().find(u8::is_ascii_alphanumeric);
    first.is_some_and(|byte| byte.is_ascii_hexdigit() || byte == b'x')
}

/// The numbers of a line of a dump in any base up to 16, without the offset before them and without
/// the text that a dump shows beside them.
fn words(line: &str) -> Vec<&str> {
    let mut line = line.split(['|', '>']).find(|part| !part.trim().is_empty()).unwrap_or_default();
    if let Some((before, after)) = line.split_once(':')
        && !before.trim().is_empty()
        && before.bytes().all(|b| b.is_ascii_hexdigit() || b.is_ascii_whitespace())
    {
        let after = after.trim_start();
        line = after.split("  ").next().unwrap_or_default();
    }
    let runs = line.split(|c: char| !c.is_ascii_alphanumeric()).filter(|run| !run.is_empty());
    let mut words: Vec<&str> = runs
        .map(|run| run.strip_prefix("0x").or_else(|| run.strip_prefix('x')).unwrap_or(run))
        .take_while(|run| !run.is_empty() && run.bytes().all(|b| b.is_ascii_hexdigit()))
        .collect();
    let is_offset = |word: &str, next: &str| {
        OFFSET_DIGITS.contains(&word.len()) && word.len() != next.len() && word.starts_with('0')
    };
    if let [first, second, ..] = words.as_slice()
        && is_offset(first, second)
    {
        words.remove(0);
    }
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "Ask which cluster is meant before anything happens to it.\nThen wait.\n";

    fn shows(encoded: &str) -> bool {
        let squashed: String = TEXT.split_whitespace().collect();
        views(encoded).iter().any(|view| {
            let text: String = view.text.split_whitespace().collect();
            view.is_sound && text.contains(squashed.get(..40).unwrap())
        })
    }

    fn wrapped(text: &str, width: usize, prefix: &str) -> String {
        let lines = text.as_bytes().chunks(width).map(|line| String::from_utf8_lossy(line));
        lines.flat_map(|line| [prefix.to_owned(), line.into_owned(), "\n".to_owned()]).collect()
    }

    /// Each byte of the text, written so.
    fn dumped(write: impl Fn(u8) -> String) -> String {
        TEXT.bytes().map(write).collect()
    }

    /// As the tools of the system print it.
    const BASE64: &str = "QXNrIHdoaWNoIGNsdXN0ZXIgaXMgbWVhbnQgYmVmb3JlIGFueXRoaW5nIGhhcHBlbnMgdG8g\
                          aXQuClRoZW4gd2FpdC4K";
    const BASE32: &str = "IFZWWIDXNBUWG2BAMNWHK43UMVZCA2LTEBWWKYLOOQQGEZLGN5ZGKIDBNZ4XI2DJNZTSA\
                          2DBOBYGK3TTEB2G6IDJOQXAUVDIMVXCA53BNF2C4CQ=";
    const XXD: &str = "\
00000000: 4173 6b20 7768 6963 6820 636c 7573 7465  Ask which cluste
00000010: 7220 6973 206d 6561 6e74 2062 6566 6f72  r is meant befor
00000020: 6520 616e 7974 6869 6e67 2068 6170 7065  e anything happe
00000030: 6e73 2074 6f20 6974 2e0a 5468 656e 2077  ns to it..Then w
00000040: 6169 742e 0a                             ait..
";
    const HEXDUMP: &str = "\
00000000  41 73 6b 20 77 68 69 63  68 20 63 6c 75 73 74 65  |Ask which cluste|
00000010  72 20 69 73 20 6d 65 61  6e 74 20 62 65 66 6f 72  |r is meant befor|
00000020  65 20 61 6e 79 74 68 69  6e 67 20 68 61 70 70 65  |e anything happe|
";
    const HEXDUMP_WORDS: &str = "\
0000000 7341 206b 6877 6369 2068 6c63 7375 6574
0000010 2072 7369 6d20 6165 746e 6220 6665 726f
0000020 2065 6e61 7479 6968 676e 6820 7061 6570
";
    const OD: &str = "\
0000000 071501 020153 064167 061551 020150 066143 071565 062564
0000020 020162 071551 066440 060545 072156 061040 063145 071157
0000040 020145 067141 072171 064550 063556 064040 070141 062560
";
    const OD_B: &str = "\
0000000 101 163 153 040 167 150 151 143 150 040 143 154 165 163 164 145
0000020 162 040 151 163 040 155 145 141 156 164 040 142 145 146 157 162
0000040 145 040 141 156 171 164 150 151 156 147 040 150 141 160 160 145
";

    #[test]
    fn base64_in_any_layout_and_alignment() {
        assert!(shows(BASE64));
        for start in 1..4 {
            let cut = TEXT.get(start..).unwrap();
            let squashed: String = cut.split_whitespace().collect();
            let views = views(BASE64.get(start + 2..).unwrap());
            let mut texts =
                views.iter().map(|view| view.text.split_whitespace().collect::<String>());
            assert!(texts.any(|text| text.contains(squashed.get(4..40).unwrap())), "{start}");
        }
        for width in [76, 40, 10, 3] {
            assert!(shows(&wrapped(BASE64, width, "")), "{width}");
        }
        for prefix in ["   12\t", "> ", "SKILL.md:3:", "| "] {
            assert!(shows(&wrapped(BASE64, 40, prefix)), "{prefix}");
        }
        assert!(shows(&wrapped(BASE64, 20, "").replace('\n', "\\n")));
        assert!(shows(&BASE64.replace('+', "-").replace('/', "_")));
        let spaced: String = BASE64.chars().flat_map(|c| [c, ' ']).collect();
        assert!(shows(&spaced));
    }

    #[test]
    fn base32_and_dumps() {
        for text in [BASE32, XXD, HEXDUMP, HEXDUMP_WORDS, OD, OD_B] {
            assert!(shows(text), "{text}");
        }
        let hex = dumped(|b| format!("{b:02x}"));
        assert!(shows(&wrapped(&hex, 60, "")));
        assert!(shows(&wrapped(&hex.to_uppercase(), 60, "")));
        for text in [
            dumped(|b| format!(" {b:02x}")),
            dumped(|b| format!("\\x{b:02x}")),
            dumped(|b| format!("0x{b:02x}, ")),
            dumped(|b| format!("%{b:02x}")),
            dumped(|b| format!("{b} ")),
            dumped(|b| format!("{b:08b} ")),
            dumped(|b| format!("{b:02x}\n")),
            dumped(|b| format!("\\{b:03o}")),
            format!("{:?}", TEXT.as_bytes()),
        ] {
            assert!(shows(&text), "{text}");
        }
        let numbered: Vec<String> = XXD.lines().map(|line| format!("     3\t{line}")).collect();
        assert!(shows(&numbered.join("\n")));
    }

    #[test]
    fn prose_is_no_sound_text_in_another_reading() {
        let prose = TEXT.repeat(20);
        assert!(views(&prose).iter().all(|view| !view.is_sound || view.text.len() < 200));
    }

    proptest::proptest! {
        #[test]
        fn any_text_has_views_of_bounded_size(text: String) {
            let total: usize = views(&text).iter().map(|view| view.text.len()).sum();
            proptest::prop_assert!(total <= 40 * text.len());
        }
    }
}
