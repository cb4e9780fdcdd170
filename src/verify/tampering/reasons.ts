export const SHOWN = "Only shown or used to sort: nothing is decided by it.";
export const ENCRYPTED =
  "Encrypted for its row: a changed value cannot be opened, and what needs it fails.";
export const COMPARED = "Says which lists were compared; a change of the lists changes it for all.";
