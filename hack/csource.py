"""Just enough C to check habits: comments and literals told from code, functions found, rules lifted.

Shared by hack/banned and hack/size. No preprocessor: code in both branches of an #if counts.
"""

import re
import subprocess
import sys

sys.dont_write_bytecode = True

LEXEME = re.compile(r'''
    (?P<comment> /\*.*?\*/ | //[^\n]*)
  | (?P<text>    "(?:\\.|[^"\\\n])*" | '(?:\\.|[^'\\\n])*')
  | (?P<line>    ^[ \t]*\#(?:\\\n|/\*.*?\*/|[^\n])*)
  | (?P<word>    [A-Za-z_]\w*)
  | (?P<number>  \.?\d(?:[eEpP][+-]|[\w.])*)
  | (?P<punct>   && | \|\| | -> | \+\+ | -- | << | >> | [^\s\w])
''', re.X | re.S | re.M)

NOT_FUNCTIONS = {'if', 'for', 'while', 'switch', 'return', 'sizeof', 'do', 'else'}
BRANCHES = {'if', 'for', 'while', '&&', '||', '?'}


class Token:
    def __init__(self, kind, text, line):
        self.kind, self.text, self.line = kind, text, line


class Function:
    def __init__(self, name, first, last, parameters, complexity):
        self.name, self.first, self.last = name, first, last
        self.parameters, self.complexity = parameters, complexity

    @property
    def lines(self):
        return self.last - self.first + 1


def tokens(text):
    """All tokens with their lines; comments, literals and preprocessor lines are tokens of their kind."""
    line, at = 1, 0
    for m in LEXEME.finditer(text):
        line += text.count('\n', at, m.start())
        at = m.start()
        yield Token(m.lastgroup, m.group(), line)


def code(text):
    return [t for t in tokens(text) if t.kind in ('word', 'number', 'punct', 'text')]


def match(toks, i, opening, closing):
    """The index of what closes toks[i]; the last index when nothing does."""
    depth = 0
    for j in range(i, len(toks)):
        if toks[j].text == opening:
            depth += 1
        elif toks[j].text == closing:
            depth -= 1
            if not depth:
                return j
    return len(toks) - 1


def count_parameters(toks):
    """Parameters between the parentheses toks[0] and toks[-1]."""
    inner = toks[1:-1]
    if not inner or [t.text for t in inner] == ['void']:
        return 0
    depth = commas = 0
    if [t.text for t in inner[-4:]] == [',', '.', '.', '.']:
        inner = inner[:-4]
    for t in inner:
        depth += (t.text in '([{') - (t.text in ')]}')
        commas += t.text == ',' and depth == 0
    return commas + 1


def count_paths(body):
    """Cyclomatic complexity. Labels that share a body count once, so that tables of cases stay cheap."""
    paths = 1
    for i, t in enumerate(body):
        if t.kind == 'text':
            continue
        if t.text in BRANCHES:
            paths += 1
        elif t.text == 'case':
            shared = i > 2 and body[i - 1].text == ':' and 'case' in (b.text for b in body[max(0, i - 4):i])
            paths += not shared
    return paths


def parameter_list(head):
    """(name index, open, close) of the function declared by head, the tokens before its body."""
    i = 0
    while i < len(head):
        if head[i].text == '(' and i and head[i - 1].kind == 'word':
            name, closing = head[i - 1].text, match(head, i, '(', ')')
            # An attribute or an upper-case macro in front of the name is passed over as a whole.
            if not name.startswith('__') and not name.isupper():
                return None if name in NOT_FUNCTIONS else (i - 1, i, closing)
            i = closing
        i += 1
    return None


def functions(text):
    """The functions defined in text, in order."""
    toks, found = code(text), []
    start = i = 0
    while i < len(toks):
        t = toks[i].text
        if t == ';':
            start = i + 1
        elif t == '{':
            end = match(toks, i, '{', '}')
            head = toks[start:i]
            place = parameter_list(head)
            if place and not any(h.text == '=' for h in head):
                name, opening, closing = place
                found.append(Function(head[name].text, head[0].line, toks[end].line,
                                      count_parameters(head[opening:closing + 1]), count_paths(toks[i:end])))
                start = end + 1
            i = end
        i += 1
    return found


def lifted(text, line, rule):
    """Whether a comment that begins with "rule:" stands directly above the line."""
    above = text.split('\n')[:line - 1]
    block = []
    while above and above[-1].strip():
        block.append(above.pop())
        if block[-1].lstrip().startswith(('/*', '//')) and not (above and above[-1].lstrip().startswith('//')):
            break
        if not re.match(r'\s*(/?\*|//)|.*\*/\s*$', block[-1]):
            return False
    return bool(re.search(r'(/\*|//|\*)\s*' + rule + r':\s*\S', '\n'.join(block)))


def listed(kind):
    """The files of a kind, by hack/lint-files; the caller stands in the root."""
    out = subprocess.run(['hack/lint-files', kind], stdout=subprocess.PIPE, check=True, text=True).stdout
    return out.splitlines()


def read(path):
    with open(path, encoding='utf-8', errors='replace') as f:
        return f.read()
