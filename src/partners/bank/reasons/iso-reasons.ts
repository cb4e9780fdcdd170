import { type ReasonTable, reasonTable } from "./reason-table.ts";

/** ISO 20022 external codes of `pain.002` statuses and of returns, as far as payouts meet them. */
export const ISO_REASONS: ReasonTable = reasonTable(`
other_account
AC01 the account number is wrong
AC03 the account number is wrong
AC04 the account is closed
AC06 the account is blocked
AC07 the account is closed
AG01 the account does not accept such payments
AM03 the account does not accept this currency
CURR the account does not accept this currency
BE06 the bank does not know the account holder
CNOR the payee's bank cannot be reached by this rail
RC04 the payee's bank cannot be reached by this rail
MS02 the payee refused the payment
MS03 the payee's bank gave no reason

correct
BE01 the name does not belong to the account
BE04 the payee's address is missing or incomplete
BE22 the payee's name is missing or incomplete
RR03 the payee's name or address is missing or incomplete
RR07 the message to the payee is not accepted
RR09 the message to the payee is not accepted
RC01 the bank's code is wrong
RC07 the bank's code is wrong
RC08 the bank's code is wrong

later
AM04 the funds for it were not available
DT01 the date was not possible
ED05 the settlement failed
FF10 the bank had a technical problem
TM01 it arrived after the bank's cut-off time

own_fault
AM10 a total of the payment file was wrong
AM18 a total of the payment file was wrong
FF01 the payment file was not accepted
FF03 the type of payment was not accepted
CH17 an element of the payment file was not accepted
CH20 the amount has too many decimals
CH21 an element of the payment file is missing
BE07 the sender's address is missing
RR01 the sender's account or name is missing
RR02 the sender's name or address is missing
AG02 the bank's operation code was not accepted

operator
AM02 the amount is above a limit of the bank
AM14 the amount is above the limit agreed with the bank
AM05 the bank regards it as a duplicate
DUPL the bank regards it as a duplicate
DU01 the bank regards the file as a duplicate
DU02 the bank regards the batch as a duplicate
DU03 the bank regards it as a duplicate
DU04 the bank regards it as a duplicate
DU05 the bank regards it as a duplicate
AM07 the amount was blocked by an authority
AM09 the amount is not the agreed one
BE05 the bank does not know the sender
CUST it was cancelled at the sender's request
FOCR it was returned at the sender's request
FR01 the bank suspects fraud
FRAD the bank suspects fraud
MD07 the account holder has died
NARR of a reason that it gave as text
NOAS the payee did not answer
RR04 of a regulation
RR05 information that regulations require is missing
`);
