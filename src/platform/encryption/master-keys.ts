import type { Config } from "../config/config.ts";
import type { MasterKeys } from "./key-port.ts";
import { isKmsKey, openKmsCommand } from "./kms-command.ts";
import { openLocalKeys } from "./local-keys.ts";

/**
 * A key service if one is set; earlier keys, from the environment or the data directory, still
 * unwrap until a rotation has wrapped everything with the service's key. In sandbox, keys are
 * created where there are none.
 */
export function masterKeys(config: Config, { are_created = true } = {}): MasterKeys {
  if (!config.kms_command) return openLocalKeys(config, { is_previous: !are_created });
  const service = openKmsCommand(config.kms_command);
  const local = openLocalKeys(config, { is_previous: true });
  const holderOf = (key_id: string) => (isKmsKey(key_id) ? service : local);
  return {
    currentId: service.currentId,
    has: (key_id) => holderOf(key_id).has(key_id),
    wrap: (key_id, place, key) => holderOf(key_id).wrap(key_id, place, key),
    unwrap: (key_id, place, wrapped) => holderOf(key_id).unwrap(key_id, place, wrapped),
  };
}
