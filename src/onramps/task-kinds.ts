export const READ_CREDITS_TASK = "read-credits";
export const MOVE_DEPOSIT_TASK = "move-deposit";
export const DELIVER_ONRAMP_TASK = "deliver-onramp";
export const EXPIRE_ONRAMP_TASK = "expire-onramp";
