//! Small tables with something to learn, the same at every run.

/// Numbers in [0, 1) from a seed.
pub struct Random(u64);

impl Random {
    pub fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1)
    }

    pub fn next(&mut self) -> f64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as f64 / (1u64 << 31) as f64
    }

    /// About normal: the sum of twelve.
    pub fn normal(&mut self) -> f64 {
        (0..12).map(|_| self.next()).sum::<f64>() - 6.0
    }
}

/// `age,income,town,sex,bought`: one row in six is a `yes`, some ages are missing.
pub fn shop(rows: usize, seed: u64) -> String {
    let mut random = Random::new(seed);
    let mut text = "age,income,town,sex,bought\n".to_owned();
    for _ in 0..rows {
        let bought = random.next() < 1.0 / 6.0;
        let shift = if bought { 1.6 } else { 0.0 };
        let age = 40.0 + 10.0 * (random.normal() + shift);
        let income = 30.0 + 8.0 * (random.normal() + 0.7 * shift);
        let town = ["Leeds", "York", "Hull"][((random.next() + 0.2 * shift) * 2.0) as usize % 3];
        let sex = if random.next() < 0.4 { "f" } else { "m" };
        let age = if random.next() < 0.02 { "NA".to_owned() } else { format!("{age:.1}") };
        text += &format!("{age},{income:.2},{town},{sex},{}\n", if bought { "yes" } else { "no" });
    }
    text
}

/// `y,p`: labels and the scores of some model.
pub fn scores(rows: usize, seed: u64) -> String {
    let mut random = Random::new(seed);
    let mut text = "y,p\n".to_owned();
    for row in 0..rows {
        let positive = row % 4 == 0;
        let score = random.normal() + if positive { 2.0 } else { 0.0 };
        text += &format!("{},{score:.12}\n", u8::from(positive));
    }
    text
}

/// `who,x,z,y,p`: rows of entities that have most of x and of the score p in common, one in five positive.
pub fn visits(entities: usize, rows: usize, seed: u64) -> String {
    let mut random = Random::new(seed);
    let mut text = "who,x,z,y,p\n".to_owned();
    for who in 0..entities {
        let common = random.normal();
        for _ in 0..rows {
            let positive = random.next() < 0.2;
            let x = 0.9 * common + 0.4 * random.normal() + if positive { 1.5 } else { 0.0 };
            let z = random.normal() + if positive { 1.0 } else { 0.0 };
            text += &format!("w{who},{x:.6},{z:.6},{},{:.6}\n", u8::from(positive), x + 0.3 * z);
        }
    }
    text
}

/// Sparse rows, with a column of large numbers in each if `times`.
pub fn sparse(rows: usize, times: bool) -> String {
    let mut random = Random::new(5);
    let mut text = String::new();
    for row in 0..rows {
        let positive = random.next() < 0.3;
        text += if positive { "+1" } else { "-1" };
        if times {
            text += &format!(" 1:{}", 1_700_000_000 + 61 * row);
        }
        for index in 2..40 {
            if random.next() < if positive && index % 5 == 0 { 0.5 } else { 0.2 } {
                text += &format!(" {}:{:.4}", 3 * index, random.normal());
            }
        }
        text.push('\n');
    }
    text
}
