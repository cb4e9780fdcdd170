// Compiles test-token.sol into test-token.json. Run it where solc is installed, after a change:
//   npm install --no-save solc@0.8.37 && node test/harness/evm/compile.mjs
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import solc from "solc";

const SOURCE = "test-token.sol";
const settings = {
  optimizer: { enabled: true, runs: 200 },
  evmVersion: "paris",
  outputSelection: { "*": { "*": ["abi", "evm.bytecode.object"] } },
};
const at = (name) => join(import.meta.dirname, name);
const sources = { [SOURCE]: { content: readFileSync(at(SOURCE), "utf8") } };
const output = JSON.parse(
  solc.compile(JSON.stringify({ language: "Solidity", sources, settings })),
);
const errors = (output.errors ?? []).map(({ formattedMessage }) => formattedMessage);
if (errors.length > 0) throw new Error(errors.join("\n"));
const { abi, evm } = output.contracts[SOURCE].TestToken;
const { outputSelection: _, ...kept } = settings;
const compiled = {
  compiler: solc.version(),
  settings: kept,
  abi,
  bytecode: `0x${evm.bytecode.object}`,
};
writeFileSync(at("test-token.json"), `${JSON.stringify(compiled, null, 2)}\n`);
