// `wattn completion SHELL`: scripts that complete commands, options and their values, made of what the command line itself reads.
import { InputError } from '../entries/index.js';
import type { Values } from './args.js';
import { kCommands } from './commands.js';
import { kValues } from './completion_values.js';
import { kTaskNames } from './help_tasks.js';
import { kHelp } from './help.js';
import { write } from './lines.js';

const kShells = ['bash', 'zsh', 'fish'] as const;
/** Words after a command. */
const kWords: Readonly<Record<string, string>> = {
  cache: 'list delete clear',
  completion: kShells.join(' '),
  help: [...Object.keys(kCommands), ...kTaskNames].join(' '),
};

const kNames = [...Object.keys(kCommands), 'help'];
const optionsOf = (command: string) => Object.keys(kCommands[command] ?? {});
const isFlag = (command: string, option: string) => kCommands[command]?.[option]?.type === 'boolean';
const valuesOf = (command: string, option: string): string | undefined => kValues[`${command} ${option}`] ?? kValues[option];

/** Options with few values, by what they may be: `command:--option` patterns of a shell's `case`. */
function choices(): [pattern: string, values: string][] {
  const found = Object.keys(kCommands).flatMap((command) =>
    optionsOf(command)
      .filter((option) => !isFlag(command, option))
      .flatMap((option) => {
        const values = valuesOf(command, option);
        return values === undefined ? [] : [[`${command}:--${option}`, values] as const];
      }),
  );
  const joined = new Map<string, string[]>();
  for (const [pattern, values] of found) joined.set(values, [...(joined.get(values) ?? []), pattern]);
  return [...joined].map(([values, patterns]) => [patterns.join('|'), values]);
}

const flagsOf = (command: string) =>
  optionsOf(command)
    .map((option) => `--${option}`)
    .join(' ');

function bash(): string {
  const commands = Object.keys(kCommands);
  return `# bash completion of wattn
_wattn() {
  local current=\${COMP_WORDS[COMP_CWORD]} previous=\${COMP_WORDS[COMP_CWORD-1]} command=\${COMP_WORDS[1]}
  local words options
  COMPREPLY=()
  if [ "$COMP_CWORD" -eq 1 ]; then
    COMPREPLY=($(compgen -W "${kNames.join(' ')} --version --help" -- "$current"))
    return
  fi
  case "$command:$previous" in
${choices()
  .map(([pattern, values]) => `    ${pattern}) words="${values}" ;;`)
  .join('\n')}
  esac
  if [ -z "$words" ]; then
    case "$command" in
${Object.entries(kWords)
  .map(([command, words]) => `      ${command}) words="${words}" ;;`)
  .join('\n')}
    esac
  fi
  case "$command" in
${commands.map((command) => `    ${command}) options="${flagsOf(command)}" ;;`).join('\n')}
  esac
  if [[ "$current" == -* ]]; then
    COMPREPLY=($(compgen -W "$options" -- "$current"))
  elif [ -n "$words" ]; then
    COMPREPLY=($(compgen -W "$words" -- "$current"))
  fi
}
complete -o default -o bashdefault -F _wattn wattn
`;
}

function zsh(): string {
  return `#compdef wattn
_wattn() {
  local current=\${words[CURRENT]} previous=\${words[CURRENT-1]} command=\${words[2]}
  local -a found options
  if (( CURRENT == 2 )); then
    compadd -- ${kNames.join(' ')} --version --help
    return
  fi
  case "$command:$previous" in
${choices()
  .map(([pattern, values]) => `    ${pattern}) found=(${values}) ;;`)
  .join('\n')}
  esac
  if (( ! $#found )); then
    case "$command" in
${Object.entries(kWords)
  .map(([command, words]) => `      ${command}) found=(${words}) ;;`)
  .join('\n')}
    esac
  fi
  case "$command" in
${Object.keys(kCommands)
  .map((command) => `    ${command}) options=(${flagsOf(command)}) ;;`)
  .join('\n')}
  esac
  if [[ "$current" == -* ]]; then
    compadd -- $options
  elif (( $#found )); then
    compadd -- $found
  else
    _files
  fi
}
if [[ "$funcstack[1]" == _wattn ]]; then _wattn "$@"; elif (( $+functions[compdef] )); then compdef _wattn wattn; fi
`;
}

/** What each command does, as the list of commands says it. */
function aboutOf(command: string): string {
  return new RegExp(`^  ${command} +(.+)$`, 'm').exec(kHelp[''] as string)?.[1]?.replaceAll("'", '') ?? '';
}

function fish(): string {
  const lines = kNames.map((name) => `complete -c wattn -n __fish_use_subcommand -f -a ${name} -d '${aboutOf(name)}'`);
  for (const [command, words] of Object.entries(kWords))
    lines.push(`complete -c wattn -n '__fish_seen_subcommand_from ${command}' -f -a '${words}'`);
  for (const command of Object.keys(kCommands)) {
    for (const option of optionsOf(command)) {
      const values = valuesOf(command, option);
      const takes = isFlag(command, option) ? '' : values === undefined ? ' -r' : ` -x -a '${values}'`;
      lines.push(`complete -c wattn -n '__fish_seen_subcommand_from ${command}' -l ${option}${takes}`);
    }
  }
  return `# fish completion of wattn\n${lines.join('\n')}\n`;
}

const kScripts: Readonly<Record<string, () => string>> = { bash, zsh, fish };

export async function completion(_values: Values, [shell, ...more]: string[]): Promise<void> {
  if (shell === undefined || more.length > 0 || !Object.hasOwn(kScripts, shell))
    throw new InputError(
      `expected a shell of ${kShells.join(', ')}, found ${[shell, ...more].filter(Boolean).join(' ') || 'none'}`,
    );
  await write((kScripts[shell] as () => string)());
}
