//! Private keys: making, reading and writing them.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use ed25519_dalek::Signer as _;
use ed25519_dalek::pkcs8::spki::EncodePublicKey as _;
use ed25519_dalek::pkcs8::{DecodePrivateKey as _, EncodePrivateKey as _};
use p256::elliptic_curve::sec1::ToEncodedPoint as _;
use rsa::pkcs1::{DecodeRsaPrivateKey as _, EncodeRsaPrivateKey as _};
use rsa::rand_core::{CryptoRng, Error as RandomError, RngCore};
use rsa::signature::SignatureEncoding as _;
use rsa::{BigUint, RsaPrivateKey};
use sha2::Sha256;
use x509_cert::der::asn1::UintRef;
use x509_cert::der::{Decode as _, Encode as _, Reader as _, SliceReader};

use crate::function::Parameter::Str;
use crate::function::{Ambient, Arguments, Env, Failure, Function};
use crate::functions::define::{Answer, Group, answer, charge_bytes, charge_items, takes};

const KEYS: Group = Group("Keys and certificates");

/// The table of this topic.
pub const FUNCTIONS: &[Function] = &[KEYS.function(
    "genPrivateKey",
    takes(&[Str]),
    generate,
    "type",
    "A new private key in PEM: `rsa` (4096 bits), `dsa`, `ecdsa` (P-256) or `ed25519`. The result \
     differs from one evaluation to the next, and keys of the first two types take seconds.",
)];

/// The caller's randomness as the crates for keys want it. They take no error while
/// they generate a key; [`Randomness::finish`] returns it afterwards, and the key is dropped.
struct Randomness<'a> {
    ambient: &'a mut dyn Ambient,
    failure: Option<Failure>,
    filler: u64,
}

impl<'a> Randomness<'a> {
    fn new(ambient: &'a mut dyn Ambient) -> Self {
        Self {
            ambient,
            failure: None,
            filler: 1,
        }
    }

    /// What was made, unless random bytes were missing.
    fn finish<T>(self, made: T) -> Result<T, Failure> {
        self.failure.map_or(Ok(made), Err)
    }
}

impl RngCore for Randomness<'_> {
    fn next_u32(&mut self) -> u32 {
        let mut buffer = [0; 4];
        self.fill_bytes(&mut buffer);
        u32::from_le_bytes(buffer)
    }

    fn next_u64(&mut self) -> u64 {
        let mut buffer = [0; 8];
        self.fill_bytes(&mut buffer);
        u64::from_le_bytes(buffer)
    }

    fn fill_bytes(&mut self, buffer: &mut [u8]) {
        let Err(failure) = self.ambient.random(buffer) else {
            return;
        };
        self.failure.get_or_insert(failure);
        // Crates that draw until they like what they get must not draw the same for ever.
        for byte in buffer {
            self.filler ^= self.filler << 13;
            self.filler ^= self.filler >> 7;
            self.filler ^= self.filler << 17;
            *byte = self.filler.to_be_bytes()[0];
        }
    }

    fn try_fill_bytes(&mut self, buffer: &mut [u8]) -> Result<(), RandomError> {
        self.fill_bytes(buffer);
        Ok(())
    }
}

impl CryptoRng for Randomness<'_> {}

/// A private key of a type that Sprig knows.
pub enum PrivateKey {
    /// An RSA key.
    Rsa(Box<RsaPrivateKey>),
    /// DSA, for which there are no certificates any more, as it was read.
    Dsa(Vec<u8>),
    /// ECDSA on P-256.
    P256(p256::SecretKey),
    /// ECDSA on P-384.
    P384(p384::SecretKey),
    /// An Ed25519 key.
    Ed25519(ed25519_dalek::SigningKey),
}

/// How a private key signs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Algorithm {
    /// RSA with SHA-256.
    Rsa,
    /// ECDSA on P-256 with SHA-256.
    P256,
    /// ECDSA on P-384 with SHA-384.
    P384,
    /// Ed25519 signatures.
    Ed25519,
}

/// The price of a key in steps: each is some fraction of a second, or some seconds.
const SMALL_PRICE: usize = 1_000;
const RSA_PRICE: usize = 200_000;
const LARGE_PRICE: usize = 1_000_000;

/// Charges for what takes as long as so many steps.
fn charge_slow(env: &mut Env<'_>, price: usize) -> Result<(), Failure> {
    charge_items(env, price)?;
    Ok(env.meter.clock()?)
}

/// Charges for reading a private key, or for signing with one.
pub fn charge_use(env: &mut Env<'_>) -> Result<(), Failure> {
    charge_slow(env, SMALL_PRICE)
}

/// A new RSA key of the size that certificates get.
pub fn generate_rsa(env: &mut Env<'_>) -> Result<PrivateKey, Failure> {
    charge_slow(env, RSA_PRICE)?;
    rsa_key(env, 2048)?
        .map_err(|problem| Failure::text(format!("error generating rsa key: {problem}")))
}

/// The inner error is the library's.
fn rsa_key(env: &mut Env<'_>, bits: usize) -> Result<Result<PrivateKey, String>, Failure> {
    let mut randomness = Randomness::new(env.ambient);
    let key = RsaPrivateKey::new(&mut randomness, bits);
    let key = randomness.finish(key)?;
    Ok(key
        .map(|key| PrivateKey::Rsa(Box::new(key)))
        .map_err(|error| error.to_string()))
}

fn generate(env: &mut Env<'_>, arguments: &Arguments<'_>) -> Answer {
    let kind = arguments.text(0)?;
    let key = match &*kind {
        "" | "rsa" => {
            charge_slow(env, LARGE_PRICE)?;
            rsa_key(env, 4096)?
        }
        "dsa" => {
            charge_slow(env, LARGE_PRICE)?;
            dsa_key(env)?
        }
        "ecdsa" => {
            charge_slow(env, SMALL_PRICE)?;
            let mut randomness = Randomness::new(env.ambient);
            let key = p256::SecretKey::random(&mut randomness);
            Ok(PrivateKey::P256(randomness.finish(key)?))
        }
        "ed25519" => {
            charge_slow(env, SMALL_PRICE)?;
            let mut seed = [0; 32];
            env.ambient.random(&mut seed)?;
            Ok(PrivateKey::Ed25519(ed25519_dalek::SigningKey::from_bytes(
                &seed,
            )))
        }
        _ => {
            charge_bytes(env, kind.len())?;
            return answer([b"Unknown type ", &**arguments.str(0)?].concat());
        }
    };
    answer(match key.and_then(|key| key.to_pem()) {
        Ok(pem) => pem,
        Err(problem) => format!("failed to generate private key: {problem}"),
    })
}

/// 1.2.840.10045.3.1.7
const P256_OID: &[u8] = &[0x2a, 0x86, 0x48, 0xce, 0x3d, 0x03, 0x01, 0x07];

/// 1.3.132.0.34
const P384_OID: &[u8] = &[0x2b, 0x81, 0x04, 0x00, 0x22];

/// A tag, a length and contents of less than 256 bytes.
fn tagged(tag: u8, contents: &[u8]) -> Vec<u8> {
    let length = u8::try_from(contents.len()).unwrap_or(u8::MAX);
    let mut bytes = vec![tag];
    if length >= 0x80 {
        bytes.push(0x81);
    }
    bytes.push(length);
    bytes.extend_from_slice(contents);
    bytes
}

/// An elliptic-curve key as in RFC 5915, naming its curve and with its public key.
fn sec1_bytes(private: &[u8], curve: &[u8], public: &[u8]) -> Vec<u8> {
    let version = tagged(0x02, &[1]);
    let private = tagged(0x04, private);
    let curve = tagged(0xa0, &tagged(0x06, curve));
    // No bits of the last byte are unused.
    let public = tagged(0xa1, &tagged(0x03, &[&[0], public].concat()));
    tagged(0x30, &[version, private, curve, public].concat())
}

/// The inner error is the library's.
fn dsa_key(env: &mut Env<'_>) -> Result<Result<PrivateKey, String>, Failure> {
    let mut randomness = Randomness::new(env.ambient);
    let parameters = dsa::Components::generate(&mut randomness, dsa::KeySize::DSA_2048_256);
    let key = dsa::SigningKey::generate(&mut randomness, parameters);
    let key = randomness.finish(key)?;
    let public = key.verifying_key();
    let parameters = public.components();
    let numbers = [
        &BigUint::default(),
        parameters.p(),
        parameters.q(),
        parameters.g(),
        public.y(),
        key.x(),
    ];
    Ok(dsa_bytes(&numbers)
        .map(PrivateKey::Dsa)
        .map_err(|error| error.to_string()))
}

/// A sequence of numbers: version 0, P, Q, G, Y, X.
fn dsa_bytes(numbers: &[&BigUint]) -> x509_cert::der::Result<Vec<u8>> {
    let mut body = Vec::new();
    for number in numbers {
        UintRef::new(&number.to_bytes_be())?.encode_to_vec(&mut body)?;
    }
    let mut bytes = Vec::new();
    x509_cert::der::AnyRef::new(x509_cert::der::Tag::Sequence, &body)?.encode_to_vec(&mut bytes)?;
    Ok(bytes)
}

impl PrivateKey {
    /// The name of the algorithm's signer, or Go's error for a key that cannot sign.
    pub fn algorithm(&self) -> Result<Algorithm, &'static str> {
        match self {
            Self::Rsa(_) => Ok(Algorithm::Rsa),
            Self::P256(_) => Ok(Algorithm::P256),
            Self::P384(_) => Ok(Algorithm::P384),
            Self::Ed25519(_) => Ok(Algorithm::Ed25519),
            Self::Dsa(_) => Err("x509: certificate private key does not implement crypto.Signer"),
        }
    }

    /// The key in PEM, in the form that Sprig writes for its type.
    pub fn to_pem(&self) -> Result<String, String> {
        let failed = |error: &dyn std::fmt::Display| error.to_string();
        let (label, bytes) = match self {
            Self::Rsa(key) => {
                let bytes = key.to_pkcs1_der().map_err(|error| failed(&error))?;
                ("RSA PRIVATE KEY", bytes.as_bytes().to_vec())
            }
            Self::Dsa(bytes) => ("DSA PRIVATE KEY", bytes.clone()),
            Self::P256(key) => {
                let public = key.public_key().to_encoded_point(false);
                let bytes = sec1_bytes(&key.to_bytes(), P256_OID, public.as_bytes());
                ("EC PRIVATE KEY", bytes)
            }
            Self::P384(key) => {
                let public = key.public_key().to_encoded_point(false);
                let bytes = sec1_bytes(&key.to_bytes(), P384_OID, public.as_bytes());
                ("EC PRIVATE KEY", bytes)
            }
            Self::Ed25519(key) => {
                let pair = ed25519_dalek::pkcs8::KeypairBytes {
                    secret_key: key.to_bytes(),
                    public_key: None,
                };
                let bytes = pair.to_pkcs8_der().map_err(|error| failed(&error))?;
                ("PRIVATE KEY", bytes.as_bytes().to_vec())
            }
        };
        Ok(pem(label, &bytes))
    }

    /// The public key as a certificate holds it.
    pub fn public_key(&self) -> Result<Vec<u8>, String> {
        let document = match self {
            Self::Rsa(key) => key.to_public_key().to_public_key_der(),
            Self::P256(key) => key.public_key().to_public_key_der(),
            Self::P384(key) => key.public_key().to_public_key_der(),
            Self::Ed25519(key) => key.verifying_key().to_public_key_der(),
            Self::Dsa(_) => {
                return Err("x509: unsupported public key type: *dsa.PublicKey".to_owned());
            }
        };
        document
            .map(|document| document.as_bytes().to_vec())
            .map_err(|error| error.to_string())
    }

    /// Signs in the way that goes with the type. No signature needs randomness.
    pub fn sign(&self, message: &[u8]) -> Result<Vec<u8>, String> {
        match self {
            Self::Rsa(key) => {
                let signer = rsa::pkcs1v15::SigningKey::<Sha256>::new((**key).clone());
                signer
                    .try_sign(message)
                    .map(|signature| signature.to_vec())
                    .map_err(|error| error.to_string())
            }
            Self::P256(key) => {
                let signature: p256::ecdsa::Signature =
                    p256::ecdsa::SigningKey::from(key).sign(message);
                Ok(signature.to_der().as_bytes().to_vec())
            }
            Self::P384(key) => {
                let signature: p384::ecdsa::Signature =
                    p384::ecdsa::SigningKey::from(key).sign(message);
                Ok(signature.to_der().as_bytes().to_vec())
            }
            Self::Ed25519(key) => Ok(key.sign(message).to_bytes().to_vec()),
            Self::Dsa(_) => Err("dsa keys cannot sign certificates".to_owned()),
        }
    }

    /// Reads a key from the first PEM block of a text.
    pub fn from_pem(text: &[u8]) -> Result<Self, String> {
        let Some((label, bytes)) = pem_block(text) else {
            return Err("no PEM data in input".to_owned());
        };
        if label == "PRIVATE KEY" {
            return Self::from_pkcs8(&bytes)
                .map_err(|problem| format!("decoding PEM as PKCS#8: {problem}"));
        }
        let Some(kind) = label.strip_suffix(" PRIVATE KEY") else {
            return Err(format!("no private key data in PEM block of type {label}"));
        };
        let parsing = |problem: &dyn std::fmt::Display| {
            format!("parsing {kind} private key from PEM: {problem}")
        };
        match kind {
            "RSA" => RsaPrivateKey::from_pkcs1_der(&bytes)
                .map(|key| Self::Rsa(Box::new(key)))
                .map_err(|error| parsing(&error)),
            "EC" => p256::SecretKey::from_sec1_der(&bytes)
                .map(Self::P256)
                .or_else(|_| p384::SecretKey::from_sec1_der(&bytes).map(Self::P384))
                .map_err(|error| parsing(&error)),
            "DSA" => {
                check_dsa(&bytes).map_err(|error| parsing(&error))?;
                Ok(Self::Dsa(bytes))
            }
            _ => Err(format!("invalid private key type {label}")),
        }
    }

    fn from_pkcs8(bytes: &[u8]) -> Result<Self, String> {
        RsaPrivateKey::from_pkcs8_der(bytes)
            .map(|key| Self::Rsa(Box::new(key)))
            .or_else(|_| p256::SecretKey::from_pkcs8_der(bytes).map(Self::P256))
            .or_else(|_| p384::SecretKey::from_pkcs8_der(bytes).map(Self::P384))
            .or_else(|_| ed25519_dalek::SigningKey::from_pkcs8_der(bytes).map(Self::Ed25519))
            .map_err(|error| error.to_string())
    }
}

fn check_dsa(bytes: &[u8]) -> x509_cert::der::Result<()> {
    let mut reader = SliceReader::new(bytes)?;
    reader.sequence(|numbers| {
        for _ in 0..6 {
            UintRef::decode(numbers)?;
        }
        Ok(())
    })
}

/// Bytes in PEM with this label.
pub fn pem(label: &str, bytes: &[u8]) -> String {
    let encoded = STANDARD.encode(bytes);
    let mut text = format!("-----BEGIN {label}-----\n");
    let mut rest = encoded.as_str();
    while !rest.is_empty() {
        let (line, tail) = rest.split_at(rest.len().min(64));
        text.push_str(line);
        text.push('\n');
        rest = tail;
    }
    text + &format!("-----END {label}-----\n")
}

/// How many beginnings of PEM blocks are looked into: each may mean looking through all the text.
const MOST_BLOCKS: usize = 64;

/// The label and the bytes of the first PEM block that is whole.
pub fn pem_block(text: &[u8]) -> Option<(String, Vec<u8>)> {
    let text = String::from_utf8_lossy(text);
    let mut rest: &str = &text;
    for _ in 0..MOST_BLOCKS {
        let start = if rest.starts_with("-----BEGIN ") {
            0
        } else {
            rest.find("\n-----BEGIN ")? + 1
        };
        let after = rest.get(start + "-----BEGIN ".len()..)?;
        let (line, body) = after.split_once('\n').unwrap_or((after, ""));
        rest = body;
        let Some(label) = line.trim_end().strip_suffix("-----") else {
            continue;
        };
        let end = format!("-----END {label}-----");
        let Some(position) = body.find(&end) else {
            continue;
        };
        let content = body.get(..position)?;
        let encoded: String = content
            .lines()
            .filter(|line| !line.contains(':'))
            .flat_map(str::chars)
            .filter(|character| !character.is_ascii_whitespace())
            .collect();
        if let Ok(bytes) = STANDARD.decode(encoded) {
            return Some((label.to_owned(), bytes));
        }
    }
    None
}
