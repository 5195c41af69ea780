// Plays the scene that stands in the page: turns the corners of all polygons, sorts them by their distance
// from the eye and fills them from the farthest to the nearest.
'use strict';
(() => {
  const scene = JSON.parse(document.getElementById('scene').textContent);
  const find = id => document.getElementById(id);
  const canvas = find('view'), pen = canvas.getContext('2d'), slider = find('time');
  const rows = scene.t.length, begin = scene.t[0], end = scene.t[rows - 1];

  const add = (a, b) => [a[0] + b[0], a[1] + b[1], a[2] + b[2]];
  const sub = (a, b) => [a[0] - b[0], a[1] - b[1], a[2] - b[2]];
  const times = (s, a) => [s * a[0], s * a[1], s * a[2]];
  const dot = (a, b) => a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
  const cross = (a, b) => [a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]];
  const unit = a => times(1 / (Math.hypot(...a) || 1), a);
  const across = a => unit(cross(a, Math.abs(a[0]) < 0.6 ? [1, 0, 0] : [0, 1, 0]));

  // Motion: seven numbers a row, place and quaternion; one row where a frame stands still.
  const rowAt = (frame, row) => {
    const all = scene.motion[frame], k = all.length > 7 ? 7 * row : 0;
    return all.slice(k, k + 7);
  };
  function poseAt(frame, time) {
    let low = 0, high = rows - 1;
    while (high - low > 1) {
      const middle = (low + high) >> 1;
      if (scene.t[middle] <= time) low = middle; else high = middle;
    }
    const span = scene.t[high] - scene.t[low];
    const part = span > 0 ? Math.min(1, Math.max(0, (time - scene.t[low]) / span)) : 0;
    const a = rowAt(frame, low), b = rowAt(frame, high);
    // A quaternion and its negative are one attitude: the nearer of the two is on the way.
    const sign = a[3] * b[3] + a[4] * b[4] + a[5] * b[5] + a[6] * b[6] < 0 ? -1 : 1;
    const m = a.map((value, k) => value + part * ((k > 2 ? sign : 1) * b[k] - value));
    const n = Math.hypot(m[3], m[4], m[5], m[6]) || 1;
    const [w, x, y, z] = [m[3] / n, m[4] / n, m[5] / n, m[6] / n];
    return {
      place: m.slice(0, 3),
      rows: [[1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)],
             [2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)],
             [2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)]]
    };
  }
  const placed = (pose, p) => add(pose.place, pose.rows.map(row => dot(row, p)));

  // The eye: two angles about the direction that is up, a zoom and a shift.
  const level = unit(sub(scene.view, times(dot(scene.view, scene.up), scene.up)));
  const beside = cross(scene.up, level);
  const home = () => ({turn: 0, rise: Math.asin(dot(unit(scene.view), scene.up)), zoom: 1, x: 0, y: 0});
  let eye = home(), time = begin, playing = false, axes, scale, width, height;

  function aim() {
    const flat = add(times(Math.cos(eye.turn), level), times(Math.sin(eye.turn), beside));
    const towards = add(times(Math.cos(eye.rise), flat), times(Math.sin(eye.rise), scene.up));
    const right = unit(cross(scene.up, flat));
    axes = {towards, right, upward: cross(towards, right)};
    scale = 0.92 * Math.min(width, height * 1.25) / scene.size * eye.zoom;
  }
  const distance = 4 * scene.size;  // of the eye: the zoom is the lens, so nothing comes behind it
  function seen(p) {
    const q = sub(p, scene.centre), depth = dot(q, axes.towards), near = scale * distance / (distance - depth);
    return [width / 2 + eye.x + near * dot(q, axes.right), height / 2 + eye.y - near * dot(q, axes.upward), depth];
  }

  // Colours of the page, light or dark.
  let colours;
  function readColours() {
    const style = getComputedStyle(document.documentElement);
    const rgb = name => {
      const text = style.getPropertyValue(name).trim();
      return [1, 3, 5].map(k => parseInt(text.slice(k, k + 2), 16));
    };
    colours = {bodies: [0, 1, 2, 3, 4, 5].map(k => rgb('--c' + k)), joint: rgb('--soft'), grid: rgb('--line'),
               ink: rgb('--ink'), ground: rgb('--card')};
  }
  const css = (c, share = 1) => `rgb(${c.map(v => Math.round(Math.min(255, v * share))).join(' ')})`;
  const faint = (c, opacity) => `rgb(${c.join(' ')} / ${opacity})`;
  const colourOf = k => k < 0 ? colours.joint : colours.bodies[k % 6];

  // The floor, with a grid of round width.
  const raw = scene.size / 5, decade = 10 ** Math.floor(Math.log10(raw));
  const cell = decade * ([1, 2, 5].find(f => f * decade >= raw * 0.999) || 10);
  let lowest = Infinity;
  scene.motion.forEach((all, frame) => {
    if (frame > 0 || scene.motion.length < 3)
      for (let k = 0; k < all.length; k += 7) lowest = Math.min(lowest, dot(all.slice(k, k + 3), scene.up));
  });
  for (const solid of scene.solids)
    for (const p of solid.points) lowest = Math.min(lowest, dot(placed(poseAt(solid.frame, begin), p), scene.up));
  function drawFloor() {
    const a = across(scene.up), b = cross(scene.up, a), half = 3 * cell;
    const middle = add(scene.centre, times(lowest - 0.02 * scene.size - dot(scene.centre, scene.up), scene.up));
    pen.strokeStyle = css(colours.grid);
    pen.lineWidth = 1;
    pen.beginPath();
    for (let k = -3; k <= 3; ++k)
      for (const [along, side] of [[a, b], [b, a]]) {
        const base = add(middle, times(k * cell, side));
        const p = seen(add(base, times(-half, along))), q = seen(add(base, times(half, along)));
        pen.moveTo(p[0], p[1]);
        pen.lineTo(q[0], q[1]);
      }
    pen.stroke();
  }

  const trails = new Set(scene.trails);
  function drawTrails() {
    let k = 0;
    for (const frame of trails) {
      const all = scene.motion[frame], colour = colours.bodies[(5 - k++ % 6 + 6) % 6];
      for (const [until, opacity] of [[end, 0.3], [time, 1]]) {
        pen.beginPath();
        for (let row = 0; row < rows && scene.t[row] <= until; ++row) {
          const p = seen(rowAt(frame, row));
          if (row === 0) pen.moveTo(p[0], p[1]); else pen.lineTo(p[0], p[1]);
        }
        if (until === time && all.length > 7) {
          const p = seen(poseAt(frame, time).place);
          pen.lineTo(p[0], p[1]);
        }
        pen.strokeStyle = faint(colour, opacity);
        pen.lineWidth = until === time ? 1.8 : 1.2;
        pen.stroke();
      }
    }
  }

  // A coil between two points, or a straight line in pieces.
  function pointsOf(line, a, b) {
    const span = sub(b, a), length = Math.hypot(...span), points = [];
    if (line.look !== 'spring' || length === 0) {
      for (let k = 0; k <= 6; ++k) points.push(add(a, times(k / 6, span)));
      return points;
    }
    const along = unit(span), first = across(along), second = cross(along, first), count = 96, turns = 8;
    for (let k = 0; k <= count; ++k) {
      const part = k / count, angle = 2 * Math.PI * turns * (part - 0.1) / 0.8;
      const radius = part < 0.1 || part > 0.9 ? 0 : 0.022 * scene.part;
      points.push(add(add(a, times(part, span)),
                      add(times(radius * Math.cos(angle), first), times(radius * Math.sin(angle), second))));
    }
    return points;
  }

  let places = [];  // of the named solids, on the screen
  function draw() {
    aim();
    pen.clearRect(0, 0, width, height);
    drawFloor();
    drawTrails();
    const poses = scene.frames.map((_, frame) => poseAt(frame, time));
    const light = unit(add(add(times(0.9, axes.towards), times(0.9, axes.upward)), times(-0.45, axes.right)));
    const things = [];
    places = [];
    for (const solid of scene.solids) {
      const world = solid.points.map(p => placed(poses[solid.frame], p)), flat = world.map(seen);
      if (solid.named) {
        const sum = flat.reduce((s, p) => add(s, p), [0, 0, 0]);
        places.push({name: solid.name, x: sum[0] / flat.length, y: sum[1] / flat.length});
      }
      const colour = colourOf(solid.colour);
      for (const face of solid.faces) {
        let area = 0, depth = 0;
        face.forEach((k, i) => {
          const p = flat[k], q = flat[face[(i + 1) % face.length]];
          area += p[0] * q[1] - q[0] * p[1];
          depth += p[2];
        });
        if (area >= 0) continue;  // seen from behind: y runs down the screen
        const normal = unit(cross(sub(world[face[1]], world[face[0]]), sub(world[face[2]], world[face[1]])));
        const share = 0.62 + 0.5 * Math.max(0, dot(normal, light));
        things.push({depth: depth / face.length, points: face.map(k => flat[k]), colour: css(colour, share)});
      }
    }
    const thick = Math.max(1.5, 0.010 * scene.part * scale);
    for (const line of scene.lines) {
      const flat = pointsOf(line, placed(poses[line.from], line.a), placed(poses[line.to], line.b)).map(seen);
      const breadth = line.look === 'bar' ? thick : Math.max(1.2, 0.35 * thick);
      for (let k = 0; k + 1 < flat.length; ++k)
        things.push({depth: (flat[k][2] + flat[k + 1][2]) / 2, points: [flat[k], flat[k + 1]], breadth,
                     colour: css(colourOf(line.colour), 0.9)});
    }
    things.sort((a, b) => a.depth - b.depth);
    pen.lineCap = pen.lineJoin = 'round';
    for (const thing of things) {
      pen.beginPath();
      thing.points.forEach((p, k) => k ? pen.lineTo(p[0], p[1]) : pen.moveTo(p[0], p[1]));
      pen.strokeStyle = pen.fillStyle = thing.colour;
      pen.lineWidth = thing.breadth || 0.7;  // neighbours overlap a little: no seams
      if (!thing.breadth) {
        pen.closePath();
        pen.fill();
      }
      pen.stroke();
    }
    if (find('names').checked) drawNames();
    drawAxes();
    find('clock').textContent = 't = ' + time.toFixed(digits) + ' s';
    for (const mark of marks) mark.move();
    canvas.dataset.polygons = things.length;
  }
  function drawText(text, x, y, colour) {
    pen.font = '13px system-ui, sans-serif';
    pen.lineWidth = 3;
    pen.strokeStyle = faint(colours.ground, 0.85);
    pen.strokeText(text, x, y);
    pen.fillStyle = css(colour);
    pen.fillText(text, x, y);
  }
  function drawNames() {
    pen.textAlign = 'center';
    for (const p of places) drawText(p.name, p.x, p.y - 8, colours.ink);
  }
  function drawAxes() {
    const corner = [40, height - 40];
    pen.textAlign = 'center';
    [['x', [1, 0, 0], 1], ['y', [0, 1, 0], 2], ['z', [0, 0, 1], 0]].forEach(([name, axis, colour]) => {
      const x = 26 * dot(axis, axes.right), y = -26 * dot(axis, axes.upward);
      pen.beginPath();
      pen.moveTo(...corner);
      pen.lineTo(corner[0] + x, corner[1] + y);
      pen.strokeStyle = css(colours.bodies[colour]);
      pen.lineWidth = 2;
      pen.stroke();
      drawText(name, corner[0] + 1.35 * x, corner[1] + 1.35 * y + 4, colours.bodies[colour]);
    });
  }

  // A mark at the present time in each figure, and times from where a figure is touched.
  const span = end - begin, digits = Math.min(6, Math.max(2, 3 - Math.floor(Math.log10(span || 1))));
  const marks = [...document.querySelectorAll('figure > svg')].map(svg => {
    const [left, top, floor, right] = svg.querySelector('.frame').getAttribute('d').match(/[\d.]+/g).map(Number);
    const mark = document.createElementNS(svg.namespaceURI, 'path');
    mark.setAttribute('class', 'now');
    svg.append(mark);
    const at = event => {
      const box = svg.getBoundingClientRect(), x = (event.clientX - box.left) / box.width * svg.viewBox.baseVal.width;
      seek(begin + span * (x - left) / (right - left));
    };
    svg.addEventListener('pointerdown', at);
    svg.addEventListener('pointermove', event => event.buttons && at(event));
    return {move() {
      const x = left + (right - left) * (span > 0 ? (time - begin) / span : 0);
      mark.setAttribute('d', `M${x.toFixed(1)} ${top}V${floor}`);
    }};
  });

  function seek(to) {
    time = Math.min(end, Math.max(begin, to));
    slider.value = time;
    draw();
  }
  function setPlaying(on) {
    playing = on && span > 0;
    find('play').textContent = playing ? 'Pause' : 'Play';
    if (playing) requestAnimationFrame(first => { before = first; tick(first); });
  }
  let before = 0;
  function tick(now) {
    if (!playing) return;
    const next = time + (now - before) / 1000 * Number(find('speed').value);
    before = now;
    seek(next > end ? begin : next);
    requestAnimationFrame(tick);
  }

  // Controls.
  slider.min = begin;
  slider.max = end;
  slider.step = 'any';
  slider.addEventListener('input', () => seek(Number(slider.value)));
  find('play').addEventListener('click', () => {
    if (!playing && time >= end) time = begin;
    setPlaying(!playing);
  });
  const usual = span >= 2 && span <= 60 ? 1 : 10 ** Math.round(Math.log10((span || 1) / 8));
  for (const factor of [0.1, 0.2, 0.5, 1, 2, 5, 10]) {
    const value = Number((usual * factor).toPrecision(3));
    find('speed').add(new Option(value + ' ×', value, factor === 1, factor === 1));
  }
  find('names').addEventListener('change', draw);
  find('home').addEventListener('click', () => { eye = home(); draw(); });
  scene.frames.forEach((name, frame) => {
    if (scene.motion[frame].length <= 7) return;
    const label = document.createElement('label'), box = document.createElement('input');
    box.type = 'checkbox';
    box.checked = trails.has(frame);
    box.addEventListener('change', () => {
      if (box.checked) trails.add(frame); else trails.delete(frame);
      draw();
    });
    label.append(box, ' ' + name);
    find('trails').append(label);
  });

  const fingers = new Map();
  canvas.addEventListener('pointerdown', event => {
    canvas.setPointerCapture(event.pointerId);
    fingers.set(event.pointerId, [event.clientX, event.clientY]);
  });
  for (const gone of ['pointerup', 'pointercancel'])
    canvas.addEventListener(gone, event => fingers.delete(event.pointerId));
  const spread = () => {
    const [a, b] = [...fingers.values()];
    return {size: Math.hypot(a[0] - b[0], a[1] - b[1]) || 1, x: (a[0] + b[0]) / 2, y: (a[1] + b[1]) / 2};
  };
  const zoomBy = factor => { eye.zoom = Math.min(40, Math.max(0.1, eye.zoom * factor)); };
  canvas.addEventListener('pointermove', event => {
    const last = fingers.get(event.pointerId);
    if (!last) return;
    const old = fingers.size === 2 ? spread() : null;
    fingers.set(event.pointerId, [event.clientX, event.clientY]);
    const x = event.clientX - last[0], y = event.clientY - last[1];
    if (old) {  // two fingers: nearer, farther, aside
      const now = spread();
      zoomBy(now.size / old.size);
      eye.x += now.x - old.x;
      eye.y += now.y - old.y;
    } else if (event.shiftKey || event.buttons === 4) {
      eye.x += x;
      eye.y += y;
    } else {
      eye.turn -= 0.008 * x;
      eye.rise = Math.min(1.55, Math.max(-1.55, eye.rise + 0.008 * y));
    }
    draw();
  });
  canvas.addEventListener('wheel', event => {
    event.preventDefault();
    zoomBy(Math.exp(-0.0012 * event.deltaY));
    draw();
  }, {passive: false});
  document.addEventListener('keydown', event => {
    if (event.target.matches('input[type=range], select')) return;
    const step = {ArrowLeft: -1, ArrowRight: 1}[event.key];
    if (step) seek(time + step * span / 200);
    if (event.key === ' ' && event.target.tagName !== 'BUTTON') {
      event.preventDefault();
      find('play').click();
    }
  });

  function resize() {
    const box = canvas.getBoundingClientRect(), fine = window.devicePixelRatio || 1;
    [width, height] = [box.width, box.height];
    canvas.width = Math.round(width * fine);
    canvas.height = Math.round(height * fine);
    pen.setTransform(fine, 0, 0, fine, 0, 0);
    draw();
  }
  find('scale').textContent = `grid ${Number(cell.toPrecision(3))} m`;
  readColours();
  matchMedia('(prefers-color-scheme: dark)').addEventListener('change', () => { readColours(); draw(); });
  new ResizeObserver(resize).observe(canvas);
  resize();
  seek(begin);
  if (!matchMedia('(prefers-reduced-motion: reduce)').matches && location.hash !== '#still') setPlaying(true);
  window.mechanism = {seek, stop: () => setPlaying(false), places: () => places};  // for pages around this one
})();
