// Every public name has a doc comment: the exports of every entry in the shipped .d.ts files, with the members of types, options and classes.
// Editors show these comments.
import { readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { parse } from '@babel/parser';
import { root } from './support.js';

type Node = any; // of Babel's tree

const parsed = new Map<string, Node[]>();

function statementsOf(file: string): Node[] {
  let statements = parsed.get(file);
  if (!statements) {
    statements = parse(readFileSync(file, 'utf8'), { sourceType: 'module', plugins: [['typescript', { dts: true }]] }).program.body;
    parsed.set(file, statements);
  }
  return statements;
}

const fileOf = (from: string, source: string) => join(dirname(from), source.replace(/\.js$/, '.d.ts'));
const nameOf = ({ id, key }: Node): string => (id ?? key)?.name ?? (id ?? key)?.value ?? '';
const declaredBy = (statement: Node): Node[] =>
  statement?.type === 'VariableDeclaration' ? statement.declarations : statement?.id ? [statement] : [];

interface Declared {
  file: string;
  declaration: Node;
  comments: Node[];
}

/** A module that is a name by itself, as `nn` is: its comment is that of its file. */
const moduleAt = (file: string): Declared => ({
  file,
  declaration: { type: 'Module' },
  comments: statementsOf(file)[0].leadingComments,
});

/** Declarations of a name in a file, or in the one that it comes from. */
function find(file: string, name: string): Declared[] {
  const found: Declared[] = [];
  for (const statement of statementsOf(file)) {
    const declaration = statement.declaration ?? statement;
    for (const one of declaredBy(declaration)) {
      if (nameOf(one) === name) found.push({ file, declaration: one, comments: statement.leadingComments ?? [] });
    }
    const source: string | undefined = statement.source?.value;
    if (!source?.startsWith('.')) continue;
    for (const { type, local, exported, imported } of (statement.specifiers ?? []) as Node[]) {
      const isImport = statement.type === 'ImportDeclaration';
      if ((isImport ? local : exported)?.name !== name) continue;
      if (/Namespace/.test(type)) found.push(moduleAt(fileOf(file, source)));
      else found.push(...find(fileOf(file, source), (isImport ? imported : local).name));
    }
    if (statement.type === 'ExportAllDeclaration' && !statement.exported) found.push(...find(fileOf(file, source), name));
  }
  return found;
}

/** Names that a file exports. */
function exportsOf(file: string): string[] {
  return statementsOf(file).flatMap((statement) => {
    if (statement.type === 'ExportAllDeclaration')
      return statement.exported || !statement.source.value.startsWith('.') ? [] : exportsOf(fileOf(file, statement.source.value));
    if (statement.type !== 'ExportNamedDeclaration') return [];
    if (statement.declaration) return declaredBy(statement.declaration).map(nameOf);
    return (statement.specifiers as Node[]).map(({ exported }) => exported.name);
  });
}

/** Words of the comments before a node. A comment of one or two words is no sentence. */
const isSaid = (comments: Node[] = []) =>
  comments.some(
    ({ value }) => value.startsWith('*') && (value.replace(/@example[\s\S]*/, '').match(/[\p{L}\p{N}`'_]+/gu) ?? []).length > 2,
  );

/** Types whose members are those of their first argument. */
const kSame = new Set(['Omit', 'Pick', 'Partial', 'Readonly', 'Required']);

const textsIn = (node: Node): string[] =>
  node?.type === 'TSUnionType' ? node.types.flatMap(textsIn) : [node?.literal?.value].filter((value) => typeof value === 'string');

/** Members of a type that is named, wherever it is declared. */
function membersNamed(file: string, { expression, typeName, typeParameters, typeArguments }: Node): Node[] {
  const name: string | undefined = (expression ?? typeName)?.name;
  const [first, second] = (typeArguments ?? typeParameters)?.params ?? [];
  if (name && kSame.has(name) && first) {
    const named = textsIn(second);
    return membersOf(file, first).filter((member) => !named.length || named.includes(nameOf(member)) === (name === 'Pick'));
  }
  const members = name ? find(file, name).flatMap((found) => membersOf(found.file, found.declaration)) : [];
  return members.filter((member) => !member.static);
}

/** Members of interfaces, of objects in a type and of classes, with what they extend. What is nested in a member is said by its sentence. */
function membersOf(file: string, node: Node): Node[] {
  switch (node?.type) {
    case 'TSInterfaceDeclaration':
      return [...node.body.body, ...(node.extends ?? []).flatMap((base: Node) => membersNamed(file, base))];
    case 'ClassDeclaration':
      return [...node.body.body, ...(node.superClass ? membersNamed(file, { expression: node.superClass }) : [])];
    case 'VariableDeclarator':
      return membersOf(file, node.id.typeAnnotation?.typeAnnotation);
    case 'TSTypeLiteral':
      return node.members;
    case 'TSTypeReference':
      return membersNamed(file, node);
    case 'TSTypeAliasDeclaration':
    case 'TSParenthesizedType':
      return membersOf(file, node.typeAnnotation);
    case 'TSIntersectionType':
    case 'TSUnionType':
      return node.types.flatMap((each: Node) => membersOf(file, each));
    default:
      return [];
  }
}

const isPublic = ({ type, kind, accessibility, key, computed }: Node) =>
  !/Index|ConstructSignature|CallSignature|PrivateName/.test(type) &&
  kind !== 'constructor' &&
  accessibility !== 'private' &&
  accessibility !== 'protected' &&
  key?.type !== 'PrivateName' &&
  key?.name !== 'prototype' &&
  !computed;

const publicMembersOf = (all: Declared[]) => all.flatMap(({ file, declaration }) => membersOf(file, declaration)).filter(isPublic);

/** What is not said of a name and of its members; overloads, and a setter beside its getter, share a sentence. */
function silentIn(name: string, all: Declared[]): string[] {
  const [{ file, declaration }] = all as [Declared];
  if (declaration.type === 'Module') return exportsOf(file).flatMap((inner) => silentIn(inner, find(file, inner)));
  const members = publicMembersOf(all);
  const silent = [...new Set(members.map(nameOf))].filter(
    (member) => !members.some((each) => nameOf(each) === member && isSaid(each.leadingComments)),
  );
  return [...(all.some(({ comments }) => isSaid(comments)) ? [] : [name]), ...silent.map((member) => `${name}.${member}`)];
}

const entries = Object.entries(JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')).exports as Record<string, any>)
  .map(([name, conditions]) => [name, conditions.types ?? conditions.default?.types] as const)
  .filter((entry): entry is readonly [string, string] => typeof entry[1] === 'string')
  .filter(([, types]) => exportsOf(join(root, types)).length > 0);

it.each(entries)('%s: every public name has a sentence', (_, types) => {
  const file = join(root, types);
  const names = [...new Set(exportsOf(file))];
  expect(names.filter((name) => find(file, name).length === 0)).toEqual([]);
  expect(names.flatMap((name) => silentIn(name, find(file, name)))).toEqual([]);
});

it('finds names and members of all entries', () => {
  const counts = entries.map(([, types]) => {
    const names = [...new Set(exportsOf(join(root, types)))];
    return names.reduce((sum, name) => sum + 1 + publicMembersOf(find(join(root, types), name)).length, 0);
  });
  expect(counts.length).toBeGreaterThan(10);
  expect(Math.max(...counts)).toBeGreaterThan(1500);
});
