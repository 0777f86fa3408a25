import type { Command } from 'commander';
import { isText, TEXT_FORM } from '../admin/scopes.ts';
import type { GivenFlags } from '../config/configuration.ts';
import { collect } from './command.ts';
import { BadUsage } from './exit.ts';
import { operationCommands } from './operation_commands.ts';

export function scopeCommands(): Command {
  return operationCommands('scope', 'describe scopes on the pages that users see', {
    addScopeTexts: {
      flags: textFlags,
      input(flags) {
        const texts = textsOf(flags);
        if (!texts.name) throw new BadUsage('--name: expected a text without a language tag');
        return { texts: Object.fromEntries(Object.entries(texts).filter(([, text]) => text !== '')) };
      },
    },
    updateScopeTexts: {
      flags: textFlags,
      input(flags) {
        const changes = textsOf(flags);
        if (Object.keys(changes).length === 0)
          throw new BadUsage('nothing to update: add --name or --description');
        if (changes.name === '') throw new BadUsage('--name: the text without a language tag is required');
        return Object.fromEntries(Object.entries(changes).map(([name, text]) => [name, text || null]));
      },
    },
  });
}

function textFlags(command: Command): void {
  command
    .option(
      '--name <TEXT>',
      "what the scope allows, in a few words. '#de=TEXT' is the text in German; repeatable",
      collect,
    )
    .option(
      '--description <TEXT>',
      "a sentence that explains the scope further. '#de=TEXT' is the text in German; repeatable",
      collect,
    );
}

const LANGUAGE = '[A-Za-z]{2,8}(?:-[A-Za-z0-9]{1,8})*';
const TAGGED_FLAG = new RegExp(`^#(${LANGUAGE})=(.*)$`, 's');

/** Texts by member and language tag. A text without `#tag=` has no language tag. */
function textsOf(flags: GivenFlags): Readonly<Record<string, string>> {
  const texts: Record<string, string> = {};
  for (const member of ['name', 'description'] as const) {
    const typed = flags[member];
    for (const one of Array.isArray(typed) ? typed.map(String) : []) {
      const [, tag, tagged] = TAGGED_FLAG.exec(one) ?? [];
      const text = (tagged ?? one).trim();
      if (one.startsWith('#') && tag === undefined)
        throw new BadUsage(`--${member}: ${one}: expected '#de=TEXT' with a language tag`);
      if (!isText(member, text)) throw new BadUsage(`--${member}: ${TEXT_FORM[member]}`);
      texts[tag === undefined ? member : `${member}#${tag.toLowerCase()}`] = text;
    }
  }
  return texts;
}
