import { generateMnemonic, mnemonicToSeedSync, validateMnemonic } from "@scure/bip39";
import { wordlist } from "@scure/bip39/wordlists/english.js";

/** 24 words. */
const STRENGTH_BITS = 256;

/** A new key as words (BIP-39), and the seed that they stand for. */
export function createWords(): { words: string[]; seed: Uint8Array } {
  const mnemonic = generateMnemonic(wordlist, STRENGTH_BITS);
  return { words: mnemonic.split(" "), seed: mnemonicToSeedSync(mnemonic) };
}

/** The seed of words that a person typed; null where they are not valid. */
export function seedOf(text: string): Uint8Array | null {
  const mnemonic = text.trim().toLowerCase().split(/\s+/).join(" ");
  return validateMnemonic(mnemonic, wordlist) ? mnemonicToSeedSync(mnemonic) : null;
}
