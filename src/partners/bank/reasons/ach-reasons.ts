import { type ReasonTable, reasonTable } from "./reason-table.ts";

/** NACHA's return codes. Those that only debits can have are left to the operator. */
export const ACH_REASONS: ReasonTable = reasonTable(`
other_account
R02 the account is closed
R03 there is no such account, or it is somebody else's
R04 the account number is wrong
R12 the account was moved to another bank
R13 the payee's bank does not accept ACH payments
R20 the account does not accept such payments
R32 the payee's bank cannot settle ACH payments
R34 the payee's bank cannot settle ACH payments

correct
R28 the routing number is wrong

own_fault
R18 the date of the payment was wrong
R19 the amount field of the payment was wrong
R21 the company's identification was wrong
R22 the payee's identification was wrong
R25 an addendum of the payment was wrong
R26 a required field of the payment was missing
R27 the trace number of the payment was wrong
R30 the payee's bank does not take this kind of entry
R35 the kind of entry was wrong
R36 the kind of entry was wrong
R85 the payment has to be sent as an international one

operator
R01 the account has insufficient funds
R05 the account holder did not authorize it
R06 the sending bank asked for it back
R07 the authorization was revoked
R08 the payment was stopped
R09 the funds of the account are not collected yet
R10 the account holder did not authorize it
R11 it was not as authorized
R14 the account holder or their representative has died
R15 the account holder has died
R16 the account is frozen, or an authority forbids the payment
R17 the payee's bank could not process it, or regards it as suspicious
R23 the payee refused the payment
R24 the payee's bank regards it as a duplicate
R29 the company did not authorize it
R31 the banks agreed on a late return
R33 the payee's bank returned the entry
R37 the item was presented twice
R38 the item was stopped
R39 the payee's bank refused the item
R40 a federal agency returned it
R41 a federal agency did not accept its code
R42 a federal agency did not accept its routing number
R43 a federal agency did not accept its account number
R44 a federal agency did not accept its identification
R45 a federal agency did not accept its name
R46 a federal agency did not accept its payee
R47 a federal agency regards it as a duplicate
R50 a state does not allow it
R51 the item was not eligible
R52 the item was stopped
R53 the item was presented twice
R61 the return went to the wrong bank
R62 the return concerned a reversal
R67 the return was a duplicate
R68 the return was late
R69 a field of the return was wrong
R70 the return was not permitted
R71 the dishonored return went to the wrong bank
R72 the dishonored return was late
R73 the original return was in time
R74 the return was corrected
R75 the return was not a duplicate
R76 the dishonored return was wrong
R77 the banks do not agree on the return
R80 the international payment was coded wrongly
R81 the payee's bank does not take international payments
R82 the foreign bank's identification is wrong
R83 the foreign bank could not settle it
R84 the international gateway could not process it
`);
