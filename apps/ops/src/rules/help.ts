export const RULES_HELP = `usage: dueline rules validate <path> …
       dueline rules apply <path> …            [--confirm <token> | --yes]
       dueline rules list
       dueline rules show <rule>
       dueline rules observe|publish|draft <rule>
       dueline rules enable|disable|delete <rule>
       dueline rules enrol <rule>              [--per-minute <n>]
       dueline rules enrolments
       dueline rules enrol-confirm|enrol-cancel <enrolment>
       dueline rules caps
       dueline rules cap --max <n>|none --per <duration>
all:   [--account <id>] [--json]; what changes something: [--by <name>] [--why <reason>]

A path is a JSON file with one rule or a list of rules, or a folder of such files. A rule is told by its name; <rule> is an id or a name.
validate: what is wrong, by file and field; asks no database.
apply: shows what would change and a token; with --confirm <token> exactly that is done, with --yes whatever it is. What no file names stays. A new
rule is a draft unless its file says otherwise.
observe: the rule is judged and written down as it would act, and does nothing. publish: it acts. draft: it is not looked at.
disable: its waiting actions are cancelled or held when they come due. delete: they are cancelled.
enrol: counts who matches a live rule on an attribute already; once confirmed they enter it in the background, --per-minute of them (600).
cap: at most so many messages to one person within any so long a time, over all rules; campaigns count and are not held back.

exit code: 0 done, 1 not done, 2 not understood.
examples:
  dueline rules apply rules/
  dueline rules publish 'gold gets a voucher' --why 'agreed with Mika'
  dueline rules cap --max 3 --per 1d
`;
